import { expect } from 'chai';
import { createHash, createHmac } from 'node:crypto';
import { deliveryHeaders, MissingMasterKey, signingSecret } from '../../domain/webhook-signing.js';

const key = (id: string) => ({ id, key: createHash('sha256').update(id).digest() });

describe('signing secrets', () => {
  const newest = key('2026-03');
  const older = key('2025-01');
  const keys = [newest, older];

  it('are whsec_ and base64 of 32 bytes, and stay the same forever', () => {
    const secret = signingSecret(keys, 'an endpoint', { key: '2026-03', generation: 0 });
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(signingSecret([older, newest], 'an endpoint', { key: '2026-03', generation: 0 })).to.equal(secret);
  });

  it('differ by endpoint, generation and master key', () => {
    const all = [
      signingSecret(keys, 'a', { key: '2026-03', generation: 0 }),
      signingSecret(keys, 'b', { key: '2026-03', generation: 0 }),
      signingSecret(keys, 'a', { key: '2026-03', generation: 1 }),
      signingSecret(keys, 'a', { key: '2025-01', generation: 0 }),
    ];
    expect(new Set(all).size).to.equal(4);
  });

  it('can’t be derived without their master key', () => {
    expect(() => signingSecret([newest], 'a', { key: '2025-01', generation: 0 })).to.throw(
      MissingMasterKey,
      '2025-01',
    );
  });
});

describe('the headers of a delivery', () => {
  const secrets = [
    signingSecret([key('k')], 'a', { key: 'k', generation: 1 }),
    signingSecret([key('k')], 'a', { key: 'k', generation: 0 }),
  ].slice();
  const delivery = { delivery: 'dlv_1', type: 'card.created', body: '{"name":"Zoë"}', at: 1_767_225_600_999 };

  it('are those of the contract and of Standard Webhooks', () => {
    const headers = deliveryHeaders({ ...delivery, secrets });
    const hex = (secret: string) =>
      createHmac('sha256', secret).update(Buffer.from('1767225600.{"name":"Zoë"}', 'utf8')).digest('hex');
    const standard = (secret: string) =>
      createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
        .update('dlv_1.1767225600.{"name":"Zoë"}')
        .digest('base64');
    const [fresh = '', old = ''] = secrets;
    expect(headers).to.deep.equal({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1',
      'accept-encoding': 'identity',
      'service-event': 'card.created',
      'service-delivery': 'dlv_1',
      'service-signature': `t=1767225600,v1=${hex(fresh)},v1=${hex(old)}`,
      'webhook-id': 'dlv_1',
      'webhook-timestamp': '1767225600',
      'webhook-signature': `v1,${standard(fresh)} v1,${standard(old)}`,
    });
  });
});
