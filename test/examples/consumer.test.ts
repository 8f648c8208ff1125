import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConfirmChannel } from 'amqplib';
import { expect } from 'chai';
import { describeWithEngines } from '../support/runner/engines.js';
import { eventually } from '../support/time/eventually.js';
import { inboxOf, printed, startExample } from '../support/examples/examples.js';

const cards = 400;

describeWithEngines(['RABBITMQ_URL'], 'examples/consumer.mjs', function (url) {
  let directory: string;
  let channel: ConfirmChannel;
  let close: () => Promise<void>;
  const name = `test.example.${process.pid}.${Date.now()}`;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'card-example-'));
    const connection = await connect(url);
    close = () => connection.close();
    channel = await connection.createConfirmChannel();
    await channel.assertExchange(name, 'topic', { durable: true });
  });
  after(async () => {
    await channel.deleteQueue(name);
    await channel.deleteExchange(name);
    await close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('handles every event once although it is killed again and again', async () => {
    const settings = {
      RABBITMQ_URL: url,
      EXCHANGE: name,
      QUEUE: name,
      INBOX: join(directory, 'cards.jsonl'),
    };
    const first = startExample('consumer.mjs', settings);
    await printed(first, 'consuming');
    await first.kill();
    const published = Array.from({ length: cards }, (_, index) => ({
      id: `event-${index}`,
      type: 'CardQueued',
      stream: `card-HC-${index}`,
      revision: '1',
      position: String(index + 1),
      data: {},
    }));
    for (const event of published)
      channel.publish(name, 'card.CardQueued', Buffer.from(JSON.stringify(event)), { persistent: true });
    await channel.waitForConfirms();
    const handled = (): number => inboxOf(settings.INBOX).length;
    for (const some of [20, 120, 250]) {
      const killed = startExample('consumer.mjs', settings);
      await eventually(() => handled() >= some, { what: `${some} handled events` });
      await killed.kill();
    }
    const last = startExample('consumer.mjs', settings);
    await eventually(async () => (await channel.checkQueue(name)).messageCount === 0 && handled() >= cards, {
      what: 'an empty queue',
    });
    await last.kill();
    const ids = inboxOf(settings.INBOX).map(({ id }) => String(id));
    expect(ids.toSorted()).to.deep.equal(published.map(({ id }) => id).toSorted());
    expect(inboxOf(settings.INBOX)[0]).to.have.property('stream', 'card-HC-0');
  }).timeout(240_000);
});
