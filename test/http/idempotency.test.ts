import { expect } from 'chai';
import { call, codeOf, settableClock } from '../support/http/http.js';
import {
  aCard,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const day = 24 * 60 * 60 * 1000;
const start = Date.parse('2026-03-02T15:00:00.000Z');
const at = (offset: number): string => new Date(start + offset).toISOString();

describe('Idempotency-Key', () => {
  let service: RunningService;
  let tenant: Tenant;
  const clock = settableClock(at(0));
  before(async () => {
    service = await startTestService({}, clock);
    tenant = await service.tenant({ credits: 1_000 });
  });
  after(() => service.stop());

  let last = 0;
  const newKey = (): string => `key-${++last}`;
  const send = (key: string, body: unknown = aCard(), by: Client = tenant.api): Promise<Reply> =>
    by('/api/v1/cards', { body, headers: { 'idempotency-key': key } });
  const replayed = ({ headers }: Reply): string | null => headers.get('idempotent-replay');
  const refusal = ({ status, code }: Reply): unknown[] => [status, code];

  it('replays the original response and spends nothing', async () => {
    const key = newKey();
    const first = await send(key);
    const balance = await tenant.balance();
    const second = await send(key);
    expect([first.status, second.status, replayed(first), replayed(second)]).to.deep.equal([
      201,
      201,
      null,
      'true',
    ]);
    expect(second.text).to.equal(first.text);
    expect(second.headers.get('x-request-id')).not.to.equal(first.headers.get('x-request-id'));
    expect(await tenant.balance()).to.equal(balance);
  });
  it('replays the response unchanged after the card was cancelled, and a held card as held', async () => {
    for (const body of [aCard(), aCard({ message: '🎉' })]) {
      const key = newKey();
      const first = await send(key, body);
      await tenant.api(`/api/v1/cards/${first.id}`, { method: 'DELETE' });
      const second = await send(key, body);
      expect([second.status, second.text, replayed(second)]).to.deep.equal([201, first.text, 'true']);
    }
  });
  it('replays the response even after its arrival date can no longer be met', async () => {
    const key = newKey();
    const body = aCard({ arrive_on: '2026-03-09' });
    const first = await send(key, body);
    clock.set(at(day - 1));
    expect((await send(newKey(), body)).code).to.equal('invalid_date');
    const second = await send(key, body);
    expect([second.text, replayed(second)]).to.deep.equal([first.text, 'true']);
    clock.set(at(0));
  });
  it('expires 24 hours after the first acceptance; a replay does not extend it', async () => {
    const key = newKey();
    const first = await send(key);
    clock.pass(day - 1_000);
    expect((await send(key)).id).to.equal(first.id);
    expect((await send(key, aCard({ message: 'Other' }))).code).to.equal('idempotency_key_reused');
    clock.pass(2_000);
    const second = await send(key, aCard({ message: 'Other' }));
    expect([second.status, replayed(second)]).to.deep.equal([201, null]);
    expect(second.id).not.to.equal(first.id);
    clock.set(at(0));
  });

  it('treats bodies with equal canonical JSON as the same', async () => {
    const key = newKey();
    const body = { ...aCard({ reference: 1, extra: { a: [1, 2], b: null } }) };
    const first = await send(key, body);
    const shuffled = `\ufeff{ "extra":{"b":null, "a":[1,2]},\r\n"reference":1,${JSON.stringify(Object.fromEntries(Object.entries(aCard()).toReversed())).slice(1)}`;
    const second = await send(key, shuffled.replace('Thank', '\\u0054hank'));
    expect([second.status, second.id, replayed(second)]).to.deep.equal([201, first.id, 'true']);
  });
  const others: readonly (readonly [string, object])[] = [
    ['another message', { message: 'Other' }],
    ['another unknown field', { extra: 1 }],
    ['a field that could reach a prototype', { constructor: 1 }],
    ['another number, in a digit that a double rounds', { extra: 'DIGITS' }],
    ['a null for an omitted field', { arrive_on: null }],
    ['white space inside a value', { message: 'Thank you, Ada. ' }],
    ['a number for a text', { reference: 1 }],
    ['content that would be refused anyway', { message: '' }],
  ];
  for (const [what, changes] of others)
    it(`is refused with idempotency_key_reused if the new body has ${what}`, async () => {
      const key = newKey();
      await send(key, aCard({ reference: '1' }));
      const balance = await tenant.balance();
      expect(refusal(await send(key, aCard({ reference: '1', ...changes })))).to.deep.equal([
        422,
        'idempotency_key_reused',
      ]);
      expect(await tenant.balance()).to.equal(balance);
    });
  it('distinguishes the order of lists, and accepts numbers beyond the range', async () => {
    const key = newKey();
    await send(key, aCard({ extra: [1, 2] }));
    expect((await send(key, aCard({ extra: [2, 1] }))).code).to.equal('idempotency_key_reused');
    const huge = newKey();
    const text = JSON.stringify(aCard()).replace('{', '{"extra":1e999,');
    expect((await send(huge, text)).status).to.equal(201);
    expect(replayed(await send(huge, text))).to.equal('true');
  });

  const kept: readonly (readonly [string, string])[] = [
    ['one character', 'x'],
    ['255 characters', 'k'.repeat(255)],
    ['punctuation', `{"a": 'b'}, c;d`],
  ];
  for (const [what, key] of kept)
    it(`may be ${what}, with spaces around it, and is case-sensitive`, async () => {
      const first = await send(key);
      expect([first.status, replayed(await send(`  ${key}  `))]).to.deep.equal([201, 'true']);
      expect(replayed(await send(key.replace(/[xkb]/, (letter) => letter.toUpperCase())))).to.equal(null);
    });
  const wrong: readonly (readonly [string, string | readonly string[]])[] = [
    ['256 characters', 'k'.repeat(256)],
    ['empty', ''],
    ['blank', '   '],
    ['non-ASCII', Buffer.from('clé').toString('latin1')],
    ['with a no-break space at its end', 'abc\u00a0'],
    ['given twice', ['a', 'a']],
    ['given twice with different values', ['a', 'b']],
  ];
  for (const [what, value] of wrong)
    it(`is refused with invalid_idempotency_key if it is ${what}`, async () => {
      const balance = await tenant.balance();
      const reply = await call(service, {
        method: 'POST',
        path: '/api/v1/cards',
        key: tenant.key,
        headers: { 'idempotency-key': value },
        body: aCard(),
      });
      expect([reply.status, codeOf(reply)]).to.deep.equal([400, 'invalid_idempotency_key']);
      expect(await tenant.balance()).to.equal(balance);
    });

  it("is checked after the scope and the body's form, before its fields", async () => {
    const long = 'k'.repeat(256);
    expect(refusal(await send(long, aCard(), await tenant.withScopes('cards:read')))).to.deep.equal([
      403,
      'missing_scope',
    ]);
    expect(refusal(await send(long, '{'))).to.deep.equal([400, 'invalid_json']);
    expect(refusal(await send(long, '[]'))).to.deep.equal([400, 'invalid_body']);
    expect(refusal(await send(long, {}))).to.deep.equal([400, 'invalid_idempotency_key']);
  });
  it('is released by a refusal, so that it can be used with another body', async () => {
    const key = newKey();
    for (const [body, code] of [
      [aCard({ message: '' }), 'missing_message'],
      [aCard({ design_id: 'x' }), 'design_not_found'],
      [{}, 'invalid_recipient'],
    ] as const)
      expect((await send(key, body)).code).to.equal(code);
    const sent = await send(key);
    expect([sent.status, replayed(sent)]).to.deep.equal([201, null]);
  });
  it('is released by a 402, and can be used after a top-up', async () => {
    const poor = await service.tenant({ credits: 0 });
    const key = newKey();
    expect(refusal(await send(key, aCard(), poor.api))).to.deep.equal([402, 'no_credits']);
    await service.operator(`/operator/v1/organizations/${poor.org}/credits`, { body: { amount: 1 } });
    const sent = await send(key, aCard(), poor.api);
    expect([sent.status, replayed(sent), await poor.balance()]).to.deep.equal([201, null, 0]);
    expect(replayed(await send(key, aCard(), poor.api))).to.equal('true');
  });
  it('is shared by all API keys of the organization, and by no other organization', async () => {
    const key = newKey();
    const first = await send(key);
    expect((await send(key, aCard(), await tenant.withScopes('cards:send'))).id).to.equal(first.id);
    const other = await service.tenant();
    expect(replayed(await send(key, aCard(), other.api))).to.equal(null);
  });
  it('is ignored on every other operation', async () => {
    const key = newKey();
    const headers = { 'idempotency-key': 'k'.repeat(300) };
    const { id } = await send(key);
    for (const [method, path] of [['GET', '/api/v1/cards'], ['GET', `/api/v1/cards/${id}`], ['DELETE', `/api/v1/cards/${id}`], ['GET', '/api/v1/account']] as const) {
      const reply = await tenant.api(path, { method, headers });
      expect([reply.status, replayed(reply)], path).to.deep.equal([200, null]);
    } // prettier-ignore
  });
  it('makes one card if twenty requests come at once; the others get its replay or request_in_progress', async () => {
    for (let round = 0; round < 5; round++) {
      const rich = await service.tenant({ credits: 20 });
      const key = newKey();
      const replies = await Promise.all(Array.from({ length: 20 }, () => send(key, aCard(), rich.api)));
      const firsts = replies.filter((reply) => reply.status === 201 && replayed(reply) === null);
      expect(firsts.length).to.equal(1);
      for (const reply of replies) {
        if (reply.status === 409)
          expect([reply.code, reply.headers.get('retry-after')]).to.deep.equal(['request_in_progress', '1']);
        else expect([reply.status, reply.id]).to.deep.equal([201, firsts[0]?.id]);
      }
      expect([await rich.balance(), (await rich.api('/api/v1/cards')).rows.length]).to.deep.equal([19, 1]);
      expect((await send(key, aCard(), rich.api)).id).to.equal(firsts[0]?.id);
    }
  });
  it('refuses other bodies with idempotency_key_reused while the first request is running', async () => {
    const key = newKey();
    const bodies = [aCard(), ...Array.from({ length: 9 }, (_, copy) => aCard({ message: `Other ${copy}` }))];
    const replies = await Promise.all(bodies.map((body) => send(key, body)));
    expect(replies.filter(({ status }) => status === 201).length).to.equal(1);
    expect(new Set(replies.filter(({ status }) => status !== 201).map(({ code }) => code))).to.deep.equal(
      new Set(['idempotency_key_reused']),
    );
  });
});
