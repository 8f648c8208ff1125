import { expect } from 'chai';
import { deliveryHeaders, signingSecret } from '../../domain/webhook-signing.js';
import { loadVerifier } from '../support/examples/examples.js';

const key = { id: 'k', key: Buffer.alloc(32, 7) };
const [fresh, old, foreign] = [
  signingSecret([key], 'a', { key: 'k', generation: 1 }),
  signingSecret([key], 'a', { key: 'k', generation: 0 }),
  signingSecret([key], 'b', { key: 'k', generation: 0 }),
];
const now = 1_767_225_600_000;
const event = {
  id: 'evt_1',
  type: 'card.created',
  created: '2026-01-01T00:00:00.000Z',
  data: { card: 'HC-1', recipient: 'Zoë', reference: null, heldReason: null },
};
const body = JSON.stringify(event);
const headersBy = (...secrets: (typeof fresh)[]) =>
  deliveryHeaders({ delivery: 'dlv_1', type: event.type, body, secrets, at: now });
const signed = headersBy(fresh);
const { verifyWebhook, WebhookVerificationError } = await loadVerifier();
const good = { body: Buffer.from(body), headers: signed, secrets: [fresh], now };

const problemOf = (changes: object): string => {
  try {
    verifyWebhook({ ...good, ...changes });
    return 'accepted';
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.problem;
    throw error;
  }
};

describe('verifying a delivery', () => {
  it('accepts raw bytes and an untouched string', () => {
    expect(verifyWebhook(good)).to.deep.equal({ delivery: 'dlv_1', event });
    expect(verifyWebhook({ ...good, body })).to.deep.equal({ delivery: 'dlv_1', event });
  });

  it('accepts any of several secrets and signatures', () => {
    expect(problemOf({ secrets: [old, fresh] })).to.equal('accepted');
    expect(problemOf({ headers: headersBy(fresh, old), secrets: [old] })).to.equal('accepted');
    expect(problemOf({ headers: headersBy(fresh, old), secrets: [foreign] })).to.equal('wrong_signature');
  });

  it('finds headers in any case, and a repeated one', () => {
    const shouted = Object.fromEntries(
      Object.entries(good.headers).map(([name, value]) => [name.toUpperCase(), [String(value)]]),
    );
    expect(problemOf({ headers: shouted })).to.equal('accepted');
  });

  it('reads the headers of a fetch request', () => {
    expect(verifyWebhook({ ...good, headers: new Headers(headersBy(fresh)) })).to.deep.equal({
      delivery: 'dlv_1',
      event,
    });
    expect(problemOf({ headers: new Headers() })).to.equal('missing_header');
  });

  it('refuses what was changed or belongs to another', () => {
    expect(problemOf({ body: Buffer.from(body.replace('HC-1', 'HC-2')) })).to.equal('wrong_signature');
    expect(problemOf({ body: JSON.stringify(event, null, 2) })).to.equal('wrong_signature');
    expect(problemOf({ secrets: [foreign] })).to.equal('wrong_signature');
    expect(
      problemOf({
        headers: {
          ...good.headers,
          'service-signature': String(signed['service-signature']).replace(/t=\d+/, 't=1767225601'),
        },
      }),
    ).to.equal('wrong_signature');
  });

  it('allows 300 seconds either way', () => {
    expect([now + 300_000, now - 300_000].map((time) => problemOf({ now: time }))).to.deep.equal([
      'accepted',
      'accepted',
    ]);
    expect([now + 301_000, now - 301_000].map((time) => problemOf({ now: time }))).to.deep.equal([
      'too_old',
      'too_new',
    ]);
    expect(problemOf({ now: now + 301_000, tolerance: 400 })).to.equal('accepted');
  });

  it('refuses a time that is not a number instead of skipping the check', () => {
    for (const changes of [{ now: NaN }, { tolerance: NaN }, { now: Infinity }])
      expect(() => verifyWebhook({ ...good, ...changes })).to.throw(TypeError);
  });

  it('says what is wrong with what it was given', () => {
    expect(problemOf({ body: event })).to.equal('parsed_body');
    expect(problemOf({ headers: {} })).to.equal('missing_header');
    expect(problemOf({ headers: { 'service-signature': signed['service-signature'] } })).to.equal(
      'missing_header',
    );
    for (const text of ['t=1', 'v1=ab', `t=x,v1=${'a'.repeat(64)}`, 'nonsense'])
      expect(problemOf({ headers: { ...good.headers, 'service-signature': text } })).to.equal(
        'malformed_header',
      );
    for (const secret of ['', 'whsec_short', fresh.slice('whsec_'.length)])
      expect(problemOf({ secrets: [secret] })).to.equal('malformed_secret');
    expect(problemOf({ secrets: [] })).to.equal('malformed_secret');
    const text = 'no JSON';
    expect(
      problemOf({
        body: text,
        headers: deliveryHeaders({ delivery: 'dlv_1', type: 'x', body: text, secrets: [fresh], at: now }),
      }),
    ).to.equal('malformed_body');
  });
});
