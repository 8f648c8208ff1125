import { expect } from 'chai';
import { SystemClock } from '../../adapters/system/clock.js';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { eventually } from '../support/time/eventually.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, startTestService, type Fields, type RunningService } from '../support/http/service.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const sent = `00-${traceId}-00f067aa0ba902b7-01`;

describe('the trace of a card', () => {
  let service: RunningService;
  let receiver: Receiver;
  before(async () => {
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  /** The metadata of the card's events in the log. */
  const metadataOf = async (card: string): Promise<readonly Fields[]> => {
    const { text } = await service.operator(`/operator/v1/events?stream=card-${card}&until=head`);
    return [...text.matchAll(/^data: ?(\{.*"metadata".*\})$/gm)].map(
      ([, data]) => (JSON.parse(data ?? '') as { readonly metadata: Fields }).metadata,
    );
  };

  it('goes from the request into its events, and with each delivery to the receiver', async () => {
    const { api } = await service.tenant();
    await api('/api/v1/webhooks', { body: { url: receiver.url } });
    const card = await api('/api/v1/cards', { body: aCard(), headers: { traceparent: sent } });
    const [first] = await metadataOf(card.id);
    expect(first?.['traceparent']).to.equal(sent);
    const delivered = await eventually(() => receiver.received[0]);
    expect(delivered.headers['traceparent']).to.equal(sent);
  });

  it('begins with the request that names none, and ends here: receivers decide whether they trace', async () => {
    const { api } = await service.tenant();
    const before = receiver.received.length;
    await api('/api/v1/webhooks', { body: { url: receiver.url } });
    const card = await api('/api/v1/cards', { body: aCard(), headers: { traceparent: `${sent}-more` } });
    const [first] = await metadataOf(card.id);
    expect(first?.['traceparent'])
      .to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
      .and.not.include(traceId);
    const delivered = await eventually(() => receiver.received[before]);
    expect(delivered.headers).not.to.have.property('traceparent');
  });

  it('is sealed with its events: the log verifies with traces in it, and not if one was changed', async () => {
    const { api } = await service.tenant();
    const body = aCard({ arrive_on: '2099-01-01' });
    const { id } = await api('/api/v1/cards', { body, headers: { traceparent: sent } });
    const keys = (await service.anonymous('/log/key')).text.trim().split('\n');
    const { text } = await service.operator(`/operator/v1/exports?card=${id}`);
    expect(text).to.include(sent);
    const isVerified = (exported: string) => verifyExport(Buffer.from(exported), { keys }).verified;
    expect([isVerified(text), isVerified(text.replaceAll(traceId, '0'.repeat(31) + '1'))]).to.deep.equal([
      true,
      false,
    ]);
  });
});
