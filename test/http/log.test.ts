import { expect } from 'chai';
import { proveGrowth } from '../../application/log/watch-checkpoints.js';
import { leafHash, nodeHash } from '../../domain/merkle.js';
import { verifyInclusion } from '../support/fixtures/inclusion.js';
import { openNote, parseCheckpointText, parseVkey } from '../../domain/signed-note.js';
import { settableClock } from '../support/http/http.js';
import { aCard, startTestService, type Reply } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

/** The lines of a proof before its checkpoint, and the checkpoint. */
const partsOf = (proof: string) => {
  const end = proof.indexOf('\n\n');
  const [heading, extra = '', index = '', ...hashes] = proof.slice(0, end).split('\n');
  return {
    heading,
    entry: Buffer.from(extra.replace('extra ', ''), 'base64'),
    index: Number(index.replace('index ', '')),
    proof: hashes.map((hash) => Buffer.from(hash, 'base64')),
    note: proof.slice(end + 2),
  };
};

/** By the definition: the largest complete tree on the left, what is left on the right. */
const rootOf = (leaves: readonly Buffer[]): Buffer => {
  const [only] = leaves;
  if (only === undefined || leaves.length === 1) return only ?? Buffer.alloc(0);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
};

const aHookCall = {
  name: 'Ann Lee',
  line1: '1 Main St',
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  message: 'Hello',
};

describe('the log of the log over HTTP', () => {
  let service: Awaited<ReturnType<typeof startTestService>>;
  const clock = settableClock(new Date().toISOString());
  before(async () => void (service = await startTestService({}, clock)));
  after(() => service.stop());

  /** The newest checkpoint of at least this many events, checked with the key that the service shows. */
  const checkpoint = async (least: number) =>
    eventually(async () => {
      const { status, text } = await service.anonymous('/log/checkpoint');
      if (status !== 200) return null;
      const keys = (await service.anonymous('/log/key')).text.trim().split('\n').map(parseVkey);
      const head = parseCheckpointText(openNote(text, keys).text);
      return head.size >= least ? { ...head, note: text } : null;
    });

  it('shows a checkpoint that its key has signed, and the tiles that give its root', async () => {
    const { size, root, origin } = await checkpoint(1);
    expect(origin).to.match(/\/log$/);
    const width = Math.min(256, size);
    const path = `/log/tile/0/000${width === 256 ? '' : `.p/${width}`}`;
    const response = await fetch(`${service.baseUrl}${path}`);
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'application/octet-stream',
    ]);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.length).to.equal(width * 32);
    const bundle = await service.operator(`/log/tile/entries/000${width === 256 ? '' : `.p/${width}`}`);
    expect(bundle.status).to.equal(200);
    expect(bundle.text).to.contain('handwritten-card-service/event/v1\n');
    const leaves = Array.from({ length: width }, (_, at) => bytes.subarray(at * 32, (at + 1) * 32));
    if (size <= 256) expect(rootOf(leaves).equals(root)).to.equal(true);
  });

  it('proves that an event stands in the log, and its tiles that an older tree is a prefix of the newer one', async () => {
    const older = await checkpoint(1);
    const { org } = await service.tenant();
    const stream = `organization-${org}`;
    const reply = await eventually(async () => {
      const found = await service.operator(`/operator/v1/log/proof?stream=${stream}&revision=0`);
      return found.status === 200 ? found : null;
    });
    const { heading, entry, index, proof, note } = partsOf(reply.text);
    const keys = (await service.anonymous('/log/key')).text.trim().split('\n').map(parseVkey);
    const head = parseCheckpointText(openNote(note, keys).text);
    expect(heading).to.equal('c2sp.org/tlog-proof@v1');
    expect(entry.toString().split('\n').slice(0, 3)).to.deep.equal([
      'handwritten-card-service/event/v1',
      stream,
      '0',
    ]);
    expect(verifyInclusion({ index, leaf: leafHash(entry), proof }, head)).to.equal(true);
    await proveGrowth(older, head, async (path) => {
      const response = await fetch(`${service.baseUrl}${path}`);
      return Buffer.from(await response.arrayBuffer());
    });
  });

  it('gives a receipt with what it accepts, which a proof bears out', async () => {
    const tenant = await service.tenant();
    const headers = { 'idempotency-key': 'receipt' };
    const send = () => tenant.api('/api/v1/cards', { body: aCard(), headers });
    const receiptOf = (reply: Reply) => [reply.status, reply.headers.get('x-log-event')];
    const [card, again] = [await send(), await send()];
    expect([receiptOf(card), receiptOf(again)]).to.deep.equal(
      [card, card].map(({ id }) => [201, `card-${id}@0`]),
    );
    const tooLong = { ...aHookCall, name: 'N'.repeat(45), message: undefined };
    const held = await tenant.api('/api/v1/cards', { body: aCard({ recipient: tooLong }) });
    expect(held.body['status']).to.equal('held');
    expect(receiptOf(held)).to.deep.equal([201, `card-${held.id}@0`]);
    const { body } = await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`, {
      body: { label: 'shop' },
    });
    const fired = await service.anonymous(`/api/v1/hooks/${String(body['token'])}`, { body: aHookCall });
    expect(receiptOf(fired)).to.deep.equal([201, `card-${fired.id}@0`]);
    const saveContact = (name: string) =>
      tenant.api('/api/v1/contacts', { body: { external_id: 'c-1', name } });
    const [made, replaced] = [await saveContact('Ada'), await saveContact('Ada King')];
    expect([receiptOf(made), receiptOf(replaced)]).to.deep.equal([
      [201, `contact-${made.id}@0`],
      [200, null],
    ]);
    expect(receiptOf(await tenant.api('/api/v1/cards', { body: {} }))[1]).to.equal(null);
    for (const reply of [card, held, fired, made]) {
      const [stream = '', revision = ''] = String(receiptOf(reply)[1]).split('@');
      const proof = await eventually(async () => {
        const query = `stream=${stream}&revision=${revision}`;
        const found = await service.operator(`/operator/v1/log/proof?${query}`);
        return found.status === 200 ? found.text : null;
      });
      expect(partsOf(proof).entry.toString().split('\n').slice(1, 3)).to.deep.equal([stream, revision]);
    }
  });

  it('refuses what the log does not have, and entries to everybody but the operator', async () => {
    await checkpoint(1);
    const codeOf = async (path: string) => {
      const { status, code } = await service.operator(path);
      return [status, code];
    };
    const proof = '/operator/v1/log/proof';
    expect(await codeOf(`${proof}?stream=card-none&revision=0`)).to.deep.equal([404, 'not_found']);
    expect(await codeOf(`${proof}?stream=card-none&revision=-1`)).to.deep.equal([400, 'invalid_parameter']);
    expect(await codeOf(`${proof}?revision=1`)).to.deep.equal([400, 'invalid_parameter']);
    for (const path of ['0/x000/000', '0/000.p/0', '9/000', '0/x999/999', '0/abc', '00/000'])
      expect(await codeOf(`/log/tile/${path}`), path).to.deep.equal([404, 'not_found']);
    expect((await service.anonymous('/log/tile/entries/000.p/1')).status).to.equal(401);
    expect((await service.anonymous(`${proof}?stream=a&revision=0`)).status).to.equal(401);
  });

  it('names the tree and the checkpoint in the anchor', async () => {
    const { size } = await checkpoint(1);
    const { body } = await service.operator('/operator/v1/anchor');
    expect(body['tree_size']).to.be.at.least(size);
    const head = parseCheckpointText(String(body['checkpoint']).split('\n\n')[0] + '\n');
    expect(body).to.include({ tree_size: head.size, root: head.root.toString('base64') });
  });

  it('says in readiness and in metrics how far the log is signed', async () => {
    await checkpoint(1);
    const { body } = await service.anonymous('/readyz');
    const parts = body['parts'] as readonly { readonly name: string; readonly ready: boolean }[];
    expect(parts.find(({ name }) => name === 'log')).to.have.property('ready', true);
    const { text } = await service.anonymous('/metrics');
    expect(text).to.match(/^log_checkpoint_age_seconds \d/m);
    expect(text).to.match(/^log_events_unsigned \d/m);
  });

  it('does not call a checkpoint young because the clock was set back', async () => {
    await checkpoint(1);
    clock.jump(-86_400_000);
    const { text } = await service.anonymous('/metrics');
    clock.jump(86_400_000);
    expect(Number(/^log_checkpoint_age_seconds (.*)/m.exec(text)?.[1])).to.be.at.least(86_400 - 60);
  });
});
