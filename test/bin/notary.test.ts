import { expect } from 'chai';
import { openNote, parseCheckpointText, signerFrom } from '../../domain/signed-note.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { eventually } from '../support/time/eventually.js';

const signer = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7));

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'the role notary', () => {
  let cluster: Cluster;
  beforeEach(async function () {
    this.timeout(20_000);
    cluster = await startCluster({ timeouts: { lease: 3_000 } });
  });
  afterEach(async function () {
    this.timeout(60_000);
    await cluster.close();
  });

  /** The size of the newest checkpoint, once it is signed and covers this many events. */
  const signed = (api: Node, least: number): Promise<number> =>
    eventually(
      async () => {
        const { status, text } = await api.anonymous('/log/checkpoint');
        if (status !== 200) return null;
        const { size } = parseCheckpointText(openNote(text, [signer]).text);
        return size >= least ? size : null;
      },
      { within: 45_000 },
    );

  it('signs the log for the processes that serve it, and another takes over if its machine is gone', async () => {
    const directory = cluster.environment['DATA_DIR'] ?? '';
    await writeLogKey(directory, signer);
    const api = await cluster.start('api');
    await cluster.start('projector');
    const first = await cluster.start('notary');
    await api.prepared;
    const size = await signed(api, 1);
    await cluster.start('notary');
    await first.isolate();
    const { status } = await api.operator('/operator/v1/organizations', { body: { name: 'Later' } });
    expect(status).to.equal(201);
    expect(await signed(api, size + 1)).to.be.greaterThan(size);
  }).timeout(120_000);
});
