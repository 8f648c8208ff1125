import { expect } from 'chai';
import { eventually } from '../support/time/eventually.js';
import {
  aCard,
  clientOf,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nowhere = '00000000-0000-4000-8000-000000000000';

const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('the operator API', () => {
  let service: RunningService;
  let operator: Client;
  let tenant: Tenant;
  let base: string;
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
    tenant = await service.tenant();
    base = `/operator/v1/organizations/${tenant.org}`;
  });
  after(() => service.stop());

  const remove = (path: string): Promise<Reply> => operator(path, { method: 'DELETE' });
  const put = (path: string, body: unknown): Promise<Reply> => operator(path, { method: 'PUT', body });

  describe('organizations', () => {
    it('are created with a name and a house hand', async () => {
      const made = await operator('/operator/v1/organizations', { body: { name: ' Acme & Söhne ' } });
      expect(made.status).to.equal(201);
      expect(made.body).to.deep.equal({ id: made.id, name: 'Acme & Söhne', house_hand: 'Everyday' });
      expect(made.id).to.match(uuid);
      const second = await operator('/operator/v1/organizations', {
        body: { name: 'Acme & Söhne', house_hand: ' ARCHITECT ' },
      });
      expect([second.status, second.body['house_hand'], second.id === made.id]).to.deep.equal([
        201,
        'Architect',
        false,
      ]);
    });
    it('can change their house hand for cards sent from then on', async () => {
      const { org, api } = await service.tenant();
      const path = `/operator/v1/organizations/${org}`;
      const handOf = async (changes: object = {}): Promise<unknown> => {
        const { id } = await api('/api/v1/cards', { body: aCard(changes) });
        return (await api(`/api/v1/cards/${id}`)).body['handwriting'];
      };
      const houseHands = async (): Promise<unknown[]> =>
        (await api('/api/v1/handwriting')).rows.filter((row) => row['house_hand']).map((row) => row['name']);
      const before = await api('/api/v1/cards', { body: aCard() });
      expect(await houseHands()).to.deep.equal(['Everyday']);
      for (let time = 0; time < 2; time++) {
        const chosen = await operator(path, { method: 'PATCH', body: { house_hand: ' ARCHITECT ' } });
        expect([chosen.status, chosen.body]).to.deep.equal([
          200,
          { id: org, name: 'Acme', house_hand: 'Architect', suspended: false },
        ]);
        expect([await handOf(), await houseHands()]).to.deep.equal(['Architect', ['Architect']]);
      }
      expect(await handOf({ handwriting: 'Everyday' })).to.equal('Everyday');
      expect((await api(`/api/v1/cards/${before.id}`)).body['handwriting']).to.equal('Everyday');
    });
    it('keep their house hand if the new one is missing or not offered', async () => {
      const { org, api } = await service.tenant();
      const path = `/operator/v1/organizations/${org}`;
      const choose = (body: unknown) => operator(path, { method: 'PATCH', body });
      await put('/operator/v1/handwriting/Shaky', { active: false });
      for (const house_hand of ['Comic Sans', 'Shaky', 'Everyday\u0000', 'x'.repeat(5_000)])
        expect(refusal(await choose({ house_hand }))).to.deep.equal([
          422,
          'unknown_handwriting',
          'house_hand',
        ]);
      for (const body of [{ house_hand: ' ' }, { house_hand: 5 }, { house_hand: '', name: 'Other' }])
        expect(refusal(await choose(body))).to.deep.equal([400, 'invalid_parameter', 'house_hand']);
      for (const body of [{}, { house_hand: null }])
        expect(refusal(await choose(body))).to.deep.equal([400, 'invalid_parameter', null]);
      const rows = (await api('/api/v1/handwriting')).rows.filter((row) => row['house_hand']);
      expect(rows.map((row) => row['name'])).to.deep.equal(['Everyday']);
    });
    it('start without credits', async () => {
      const { id } = await operator('/operator/v1/organizations', { body: { name: 'Poor' } });
      expect(
        (await operator(`/operator/v1/organizations/${id}/credits`, { body: { amount: 3 } })).body,
      ).to.deep.equal({ balance: 3 });
      const more = await operator(`/operator/v1/organizations/${id}/credits`, {
        body: { amount: 4, reason: 'Christmas' },
      });
      expect([more.status, more.body]).to.deep.equal([201, { balance: 7 }]);
    });
    it('take credits up to the largest integer that JSON numbers hold exactly', async () => {
      const { id } = await operator('/operator/v1/organizations', { body: { name: 'Rich' } });
      const credits = `/operator/v1/organizations/${id}/credits`;
      expect((await operator(credits, { body: { amount: Number.MAX_SAFE_INTEGER } })).body).to.deep.equal({
        balance: Number.MAX_SAFE_INTEGER,
      });
      expect(refusal(await operator(credits, { body: { amount: 1 } }))).to.deep.equal([
        400,
        'invalid_parameter',
        'amount',
      ]);
    });
  });

  describe('keys', () => {
    it('are created with scopes and a label, and show their secret only then', async () => {
      const made = await operator(`${base}/keys`, {
        body: { scopes: ['cards:read', 'cards:send'], label: 'Shop', requests_per_minute: 7 },
      });
      expect([made.status, made.body]).to.deep.equal([
        201,
        { id: made.id, key: made.body['key'], scopes: ['cards:read', 'cards:send'], label: 'Shop' },
      ]);
      expect(made.body['key']).to.match(/^hck_[A-Za-z0-9_-]{43}$/);
      expect((await operator(`${base}/keys`)).text).not.to.include(String(made.body['key']));
      const used = await clientOf(service.baseUrl, String(made.body['key']))('/api/v1/account');
      expect(used.headers.get('x-ratelimit-limit')).to.equal('7');
    });
    it('are listed newest first and revoked forever', async () => {
      const other = await service.tenant();
      const keys = `/operator/v1/organizations/${other.org}/keys`;
      const { id } = await operator(keys, { body: { scopes: ['contacts:read'], label: 'Second' } });
      const [second, first] = (await operator(keys)).rows;
      expect(second).to.deep.include({
        id,
        label: 'Second',
        scopes: ['contacts:read'],
        last_used_at: null,
        revoked_at: null,
      });
      expect(first).to.deep.include({ id: other.keyId, label: null, revoked_at: null });
      expect(second?.['created_at']).to.match(timestamp);
      for (let time = 0; time < 2; time++) {
        const revoked = await remove(`${keys}/${id}`);
        expect([revoked.status, revoked.body]).to.deep.equal([200, { id, revoked: true }]);
      }
      expect((await operator(keys)).rows[0]?.['revoked_at']).to.match(timestamp);
      await other.api('/api/v1/account');
      await eventually(
        async () => timestamp.test(String((await operator(keys)).rows[1]?.['last_used_at'])),
        {},
      );
    });
    it('are listed in pages like the public lists', async () => {
      const other = await service.tenant();
      const keys = `/operator/v1/organizations/${other.org}/keys`;
      const made = [other.keyId];
      for (let at = 0; at < 3; at++)
        made.unshift((await operator(keys, { body: { scopes: ['cards:read'] } })).id);
      const page = async (query: string) => {
        const { body, rows } = await operator(`${keys}?${query}`);
        return [body['object'], body['has_more'], body['next_cursor'], ...rows.map((row) => row['id'])];
      };
      expect(await page('limit=2')).to.deep.equal(['list', true, made[1], made[0], made[1]]);
      expect(await page(`limit=2&starting_after=${made[1]}`)).to.deep.equal([
        'list',
        true,
        made[3],
        made[2],
        made[3],
      ]);
      expect(await page(`limit=2&starting_after=${made[3]}`)).to.deep.equal(['list', false, null]);
      expect(await page('limit=0')).to.deep.equal(['list', false, null, ...made]);
      for (const cursor of [nowhere, tenant.keyId, 'x', `${made[0]}%00`])
        expect(refusal(await operator(`${keys}?starting_after=${cursor}`)), cursor).to.deep.equal([
          400,
          'invalid_cursor',
          'starting_after',
        ]);
      for (const limit of ['-1', 'x', '1.5'])
        expect(refusal(await operator(`${keys}?limit=${limit}`)), limit).to.deep.equal([
          400,
          'invalid_parameter',
          'limit',
        ]);
    });
  });

  describe('designs', () => {
    it('are saved and archived', async () => {
      const saved = await operator(`${base}/designs`, { body: { name: ' Autumn ' } });
      expect([saved.status, saved.body]).to.deep.equal([201, { id: saved.id, name: 'Autumn' }]);
      expect(saved.id).to.match(uuid);
      for (let time = 0; time < 2; time++)
        expect((await remove(`${base}/designs/${saved.id}`)).status).to.equal(200);
    });
    it('have names of one line, in which a control character is a space', async () => {
      const { body } = await operator(`${base}/designs`, {
        body: { name: '\nAutumn\r\n\0and\ud800 👩\u200d💻' },
      });
      expect(body['name']).to.equal('Autumn and  👩\u200d💻');
    });
    it('copy a collection card if a slug is given, at most once for each', async () => {
      const made = await operator(`${base}/designs`, {
        body: { name: 'Our cake', collection_slug: 'happy-birthday-cake' },
      });
      expect([made.status, made.body]).to.deep.equal([201, { id: made.id, name: 'Our cake' }]);
      const again = await operator(`${base}/designs`, {
        body: { name: 'Another name', collection_slug: 'happy-birthday-cake' },
      });
      expect([again.status, again.body]).to.deep.equal([200, { id: made.id, name: 'Our cake' }]);
      const offer = (active: boolean) =>
        operator('/operator/v1/collection/happy-birthday-cake', {
          method: 'PUT',
          body: { title: 'Birthday cake', active },
        });
      expect((await offer(false)).status).to.equal(200);
      const inactive = await operator(`${base}/designs`, {
        body: { name: 'Another name', collection_slug: 'happy-birthday-cake' },
      });
      expect([inactive.status, inactive.body]).to.deep.equal([200, { id: made.id, name: 'Our cake' }]);
      expect((await offer(true)).status).to.equal(200);
      const { id } = await tenant.api('/api/v1/cards', {
        body: aCard({ design_id: 'card:happy-birthday-cake' }),
      });
      expect((await operator(`/operator/v1/cards/${id}`)).body['design_id']).to.equal(made.id);
      await remove(`${base}/designs/${made.id}`);
      const next = await operator(`${base}/designs`, {
        body: { name: 'New', collection_slug: 'happy-birthday-cake' },
      });
      expect([next.status, next.id === made.id]).to.deep.equal([201, false]);
    });

    it('are withdrawn: their cards are held with the reason, and no card is sent with them', async () => {
      const owner = await service.tenant({ credits: 5 });
      const designs = `/operator/v1/organizations/${owner.org}/designs`;
      const { id: design } = await operator(designs, {
        body: { name: 'Our cake', collection_slug: 'happy-birthday-cake' },
      });
      const send = (id: string) => owner.api('/api/v1/cards', { body: aCard({ design_id: id }) });
      const { id: card } = await send(design);
      const { id: other } = await owner.api('/api/v1/cards', { body: aCard({ design_id: owner.design }) });
      for (const reason of ['The cake is a trademark.', 'Again.']) {
        const { status, body } = await operator(`${designs}/${design}/withdraw`, { body: { reason } });
        expect([status, body]).to.deep.equal([200, { id: design, withdrawn: true }]);
      }
      const held = await eventually(async () => {
        const { body } = await owner.api(`/api/v1/cards/${card}`);
        return body['status'] === 'blocked' && body;
      });
      expect(held['held_reason']).to.equal(
        'The design was withdrawn: The cake is a trademark. Cancel the card and send it again with another design',
      );
      expect((await owner.api(`/api/v1/cards/${other}`)).body['status']).to.equal('pending');
      expect(await owner.balance()).to.equal(4);
      for (const wish of [design, 'card:happy-birthday-cake'])
        expect((await send(wish)).text, wish)
          .to.include('design_not_found')
          .and.include('trademark');
      const hook = await operator(`/operator/v1/organizations/${owner.org}/hooks`, {
        body: { design_id: 'card:happy-birthday-cake' },
      });
      expect(hook.code).to.equal('design_not_found');
      const release = () => operator(`/operator/v1/cards/${card}/release`, { method: 'POST' });
      expect((await release()).code).to.equal('invalid_transition');
      const back = await operator(`${designs}/${design}/reinstate`, { method: 'POST' });
      expect(back.body).to.deep.equal({ id: design, withdrawn: false });
      expect((await release()).body['status']).to.equal('pending');
      expect((await send('card:happy-birthday-cake')).status).to.equal(201);
    });
  });

  describe('lists, for the operator,', () => {
    const list = (path: string): Promise<Reply> => operator(path);

    it('the saved designs of an organization, as its keys see them', async () => {
      const other = await service.tenant();
      await operator(`/operator/v1/organizations/${other.org}/designs`, { body: { name: 'Second' } });
      const shown = await list(`/operator/v1/organizations/${other.org}/designs`);
      expect(shown.body).to.deep.equal((await other.api('/api/v1/designs')).body);
      expect(shown.rows.map((row) => row['name'])).to.deep.equal(['Second', 'Thanks']);
    });
    it('the addresses that an organization must not mail, in pages, without those that were removed', async () => {
      const path = `/operator/v1/organizations/${(await service.tenant()).org}/do-not-mail`;
      for (const email of ['a@example.com', 'B@example.com', 'c@example.com'])
        await operator(path, { body: { email } });
      await remove(`${path}/b%40example.com`);
      const { rows } = await list(path);
      expect(rows.map((row) => row['email'])).to.deep.equal(['c@example.com', 'a@example.com']);
      expect(rows[0]?.['created_at']).to.match(timestamp);
      const first = await list(`${path}?limit=1`);
      expect([first.body['has_more'], first.body['next_cursor']]).to.deep.equal([true, rows[0]?.['id']]);
      const second = await list(`${path}?starting_after=${String(rows[0]?.['id'])}`);
      expect(second.rows).to.deep.equal([rows[1]]);
      await operator(path, { body: { email: 'b@example.com' } });
      expect((await list(path)).rows.map((row) => row['email'])).to.deep.equal([
        'c@example.com',
        'b@example.com',
        'a@example.com',
      ]);
      const foreign = `${base}/do-not-mail?starting_after=${String(rows[0]?.['id'])}`;
      expect(refusal(await list(foreign))).to.deep.equal([400, 'invalid_cursor', 'starting_after']);
      expect(refusal(await list(`/operator/v1/organizations/${nowhere}/do-not-mail`))).to.deep.equal([
        404,
        'not_found',
        null,
      ]);
    });
    it('the whole collection and all handwritings, withdrawn ones too, in pages', async () => {
      await put('/operator/v1/collection/listed-1', { title: 'One', active: true });
      await put('/operator/v1/collection/listed-2', { title: 'Two', active: true });
      await put('/operator/v1/collection/listed-2', { title: 'Two', active: false });
      const cards = await list('/operator/v1/collection?limit=2');
      expect([cards.rows, cards.body['next_cursor']]).to.deep.equal([
        [
          { slug: 'listed-2', title: 'Two', active: false },
          { slug: 'listed-1', title: 'One', active: true },
        ],
        'listed-1',
      ]);
      expect((await list('/operator/v1/collection?limit=1&starting_after=listed-2')).rows).to.deep.equal([
        { slug: 'listed-1', title: 'One', active: true },
      ]);
      await put('/operator/v1/handwriting/Listed%20One', { active: true });
      await put('/operator/v1/handwriting/Listed%20Two', { active: false });
      await put('/operator/v1/handwriting/Listed%20One', { active: false });
      const hands = await list('/operator/v1/handwriting?limit=1');
      expect([hands.rows, hands.body['next_cursor']]).to.deep.equal([
        [{ name: 'Listed Two', active: false }],
        'Listed Two',
      ]);
      expect((await list('/operator/v1/handwriting?starting_after=listed%20one')).rows.length).to.be.at.least(
        6,
      );
      for (const path of ['/operator/v1/collection', '/operator/v1/handwriting'])
        expect(refusal(await list(`${path}?starting_after=none`))).to.deep.equal([
          400,
          'invalid_cursor',
          'starting_after',
        ]);
    });
  });

  it('keeps the do-not-mail list, ignoring the case of addresses', async () => {
    const listed = await operator(`${base}/do-not-mail`, { body: { email: ' Ada@Example.com ' } });
    expect(listed.status).to.equal(201);
    expect((await operator(`${base}/do-not-mail`, { body: { email: 'ada@example.com' } })).status).to.equal(
      201,
    );
    for (const email of ['ADA%40example.com', 'never@example.com'])
      expect((await remove(`${base}/do-not-mail/${email}`)).status).to.equal(200);
  });

  describe('the collection', () => {
    it('publishes, renames and withdraws cards', async () => {
      const send = async () =>
        (await tenant.api('/api/v1/cards', { body: aCard({ design_id: 'card:New_one-1' }) })).status;
      expect(await send()).to.equal(404);
      const published = await put('/operator/v1/collection/New_one-1', { title: ' New one ', active: true });
      expect([published.status, published.body]).to.deep.equal([
        200,
        { slug: 'New_one-1', title: 'New one', active: true },
      ]);
      expect(await send()).to.equal(201);
      expect(
        (await put('/operator/v1/collection/New_one-1', { title: 'New one', active: false })).body,
      ).to.deep.include({ active: false });
      expect(await send()).to.equal(404);
      await put('/operator/v1/collection/New_one-1', { title: 'Back', active: true });
      expect(await send()).to.equal(201);
    });
  });

  describe('handwritings', () => {
    const names = async () => (await tenant.api('/api/v1/handwriting')).rows.map((row) => row['name']);
    const send = (handwriting?: string) => tenant.api('/api/v1/cards', { body: aCard({ handwriting }) });
    it('can be added, switched off and on', async () => {
      const offered = await put('/operator/v1/handwriting/Gro%C3%9Fe%20Schrift', { active: true });
      expect([offered.status, offered.body]).to.deep.equal([200, { name: 'Große Schrift', active: true }]);
      expect([
        (await names()).includes('Große Schrift'),
        (await send(' GROSSE schrift')).status,
      ]).to.deep.equal([true, 201]);
      expect(
        (await put('/operator/v1/handwriting/gro%C3%9Fe%20schrift', { active: false })).body,
      ).to.deep.equal({ name: 'Große Schrift', active: false });
      expect([(await names()).includes('Große Schrift'), (await send('Große Schrift')).code]).to.deep.equal([
        false,
        'unknown_handwriting',
      ]);
    });
    it('stay on cards and as house hand after they are switched off', async () => {
      const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
      await put('/operator/v1/handwriting/everyday', { active: false });
      const sent = await send();
      expect([sent.status, (await send('Everyday')).code]).to.deep.equal([201, 'unknown_handwriting']);
      for (const code of [id, sent.id])
        expect((await tenant.api(`/api/v1/cards/${code}`)).body['handwriting']).to.equal('Everyday');
      expect(
        refusal(
          await operator('/operator/v1/organizations', { body: { name: 'x', house_hand: 'Everyday' } }),
        ),
      ).to.deep.equal([422, 'unknown_handwriting', 'house_hand']);
      await put('/operator/v1/handwriting/EVERYDAY', { active: true });
      expect((await names()).includes('Everyday')).to.equal(true);
    });
  });

  describe('an invalid body', () => {
    type Wrong = readonly [string, string, unknown, string, number?, string?];
    const texts = [
      undefined,
      null,
      '',
      '  ',
      '\u200b \u2060',
      '\0',
      '\ud800',
      5,
      true,
      ['x'],
      {},
      'x'.repeat(5_000),
    ];
    const wrong: readonly Wrong[] = [
      ...texts.map((name): Wrong => ['POST', '/operator/v1/organizations', { name }, 'name']),
      ...[5, 'Comic Sans', 'Everyday\u0000', {}].map((house_hand): Wrong => [
        'POST',
        '/operator/v1/organizations',
        { name: 'x', house_hand },
        'house_hand',
        422,
        'unknown_handwriting',
      ]),
      ...['', '\u200b', '\0'].map((name): Wrong => ['PATCH', '{org}', { name }, 'name']),
      ...[undefined, null, 0, -1, 1.5, '5', true, [], {}, 1e300].map((amount): Wrong => [
        'POST',
        '{org}/credits',
        { amount },
        'amount',
      ]),
      ...[5, [], {}].map((reason): Wrong => ['POST', '{org}/credits', { amount: 1, reason }, 'reason']),
      ...[undefined, null, [], 'cards:read', {}, 5].map((scopes): Wrong => [
        'POST',
        '{org}/keys',
        { scopes },
        'scopes',
      ]),
      ...['admin', 'CARDS:READ', '', 5, null].map((scope): Wrong => [
        'POST',
        '{org}/keys',
        { scopes: ['cards:read', scope] },
        'scopes',
      ]),
      ...[5, {}].map((label): Wrong => ['POST', '{org}/keys', { scopes: ['cards:read'], label }, 'label']),
      ...[0, -1, 1.5, '5', 1_000_000_001].map((requests_per_minute): Wrong => [
        'POST',
        '{org}/keys',
        { scopes: ['cards:read'], requests_per_minute },
        'requests_per_minute',
      ]),
      ...texts.map((name): Wrong => ['POST', '{org}/designs', { name }, 'name']),
      ...['unknown', 5, 'welcome-home\u0000'].map((collection_slug): Wrong => [
        'POST',
        '{org}/designs',
        { name: 'x', collection_slug },
        'collection_slug',
        404,
        'design_not_found',
      ]),
      ...[undefined, null, '', 'ada', 'a b@c', '@', 5, {}].map((email): Wrong => [
        'POST',
        '{org}/do-not-mail',
        { email },
        'email',
      ]),
      ...[undefined, '', '\u2060', 5].map((title): Wrong => [
        'PUT',
        '/operator/v1/collection/x',
        { title, active: true },
        'title',
      ]),
      ...[undefined, null, 'true', 1].map((active): Wrong => [
        'PUT',
        '/operator/v1/collection/x',
        { title: 'x', active },
        'active',
      ]),
      ...[undefined, null, 'true', 0].map((active): Wrong => [
        'PUT',
        '/operator/v1/handwriting/x',
        { active },
        'active',
      ]),
      ...['hold', 'fail'].flatMap((verb) =>
        [undefined, null, '', ' ', '\u200b', '\0\u200b', 5, {}].map((reason): Wrong => [
          'POST',
          `{card}/${verb}`,
          { reason },
          'reason',
        ]),
      ),
      ...[undefined, null, '', 'pending', 'done', 'COMPLETED', 5].map((status): Wrong => [
        'POST',
        '{card}/steps/packed',
        { status },
        'status',
      ]),
      ...[5, {}].map((machine): Wrong => [
        'POST',
        '{card}/steps/packed',
        { status: 'in_progress', machine },
        'machine',
      ]),
    ];
    it('is refused with invalid_parameter or a more specific code, and the field is named', async () => {
      const { id } = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
      const paths = (path: string) =>
        path.replace('{org}', base).replace('{card}', `/operator/v1/cards/${id}`);
      for (const [method, path, body, param, status = 400, code = 'invalid_parameter'] of wrong) {
        const reply = await operator(paths(path), { method, body });
        expect(refusal(reply), `${method} ${path} ${JSON.stringify(body).slice(0, 100)}`).to.deep.equal([
          status,
          code,
          param,
        ]);
      }
      expect((await tenant.api(`/api/v1/cards/${id}`)).body['status']).to.equal('pending');
    });
    it('is refused for its Content-Type, size or JSON as in the public API', async () => {
      const post = async (body: string, type = 'application/json') =>
        (
          await operator('/operator/v1/organizations', {
            method: 'POST',
            body,
            headers: { 'content-type': type },
          })
        ).code;
      expect([
        await post('{}', 'text/plain'),
        await post('{'),
        await post('[]'),
        await post(' '.repeat(200_000)),
      ]).to.deep.equal(['unsupported_media_type', 'invalid_json', 'invalid_body', 'body_too_large']);
    });
  });

  it("responds with 404 to ids that are unknown or another organization's", async () => {
    const other = await service.tenant();
    const missing: readonly (readonly [string, string, object?])[] = [
      ...[nowhere, 'x', `${tenant.org}%00`, tenant.org.toUpperCase().replace('-', '')].flatMap(
        (org): (readonly [string, string, object?])[] => [
          ['PATCH', `/operator/v1/organizations/${org}`, { house_hand: 'Elegant' }],
          ['POST', `/operator/v1/organizations/${org}/credits`, { amount: 1 }],
          ['POST', `/operator/v1/organizations/${org}/keys`, { scopes: ['cards:read'] }],
          ['GET', `/operator/v1/organizations/${org}/keys`],
          ['DELETE', `/operator/v1/organizations/${org}/keys/${tenant.keyId}`],
          ['POST', `/operator/v1/organizations/${org}/designs`, { name: 'x' }],
          ['DELETE', `/operator/v1/organizations/${org}/designs/${tenant.design}`],
          ['POST', `/operator/v1/organizations/${org}/do-not-mail`, { email: 'a@b' }],
          ['DELETE', `/operator/v1/organizations/${org}/do-not-mail/a%40b`],
        ],
      ),
      ...[nowhere, 'x', other.keyId, `${tenant.keyId}%00`].map(
        (id) => ['DELETE', `${base}/keys/${id}`] as const,
      ),
      ...[nowhere, 'x', other.design].map((id) => ['DELETE', `${base}/designs/${id}`] as const),
      ['POST', '/operator/v1/projections/nothing/rebuild'],
      ['GET', `${base}/keys/${tenant.keyId.slice(1)}/x`],
    ];
    for (const [method, path, body] of missing) {
      const reply = await operator(path, { method, ...(body && { body }) });
      expect(refusal(reply).slice(0, 2), `${method} ${path}`).to.deep.equal([404, 'not_found']);
    }
    for (const [method, path] of [['GET', ''], ['GET', '/history'], ['POST', '/release'], ['POST', '/queue'], ['POST', '/cancel'], ['POST', '/hold'], ['POST', '/fail'], ['POST', '/steps/packed']] as const)
      for (const code of ['HC-0000000', 'x', '%zz']) {
        const body = path === '/hold' || path === '/fail' ? { reason: 'x' } : path === '/steps/packed' ? { status: 'completed' } : undefined;
        const reply = await operator(`/operator/v1/cards/${code}${path}`, { method, ...(body && { body }) });
        expect(refusal(reply).slice(0, 2), `${method} ${code}${path}`).to.deep.equal([404, 'card_not_found']);
      } // prettier-ignore
  });

  it('shows a card and its history to the last event', async () => {
    const { id } = await tenant.api('/api/v1/cards', {
      body: aCard({ arrive_on: '2099-01-01', message: 'Dear Ada' }),
    });
    await operator(`/operator/v1/cards/${id}/hold`, { body: { reason: 'Ask Ada' } });
    const { rows, body } = await operator(`/operator/v1/cards/${id.toLowerCase()}/history`);
    expect({ ...body, data: [] }).to.deep.equal({
      object: 'list',
      has_more: false,
      next_cursor: null,
      data: [],
    });
    expect(rows.map((row) => [row['revision'], row['type'], row['actor']])).to.deep.equal([
      ['0', 'CardScheduled', { kind: 'key', id: tenant.keyId, label: null }],
      ['1', 'CardHeld', { kind: 'operator', id: 'root', label: null }],
    ]);
    for (const row of rows) {
      expect(row['position']).to.match(/^\d+$/);
      expect(row['at']).to.match(timestamp);
      expect(row['hash']).to.match(/^[0-9a-f]{64}$/);
      expect(row['id']).to.match(/^[0-9a-f-]{36}$/);
      expect([row['verified'], String(row['request_id']).slice(0, 4)]).to.deep.equal([true, 'req_']);
    }
  });

  it('returns the head of the log as an anchor', async () => {
    const before = (await operator('/operator/v1/anchor')).body;
    const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
    const anchor = (await operator('/operator/v1/anchor')).body;
    const last = (await operator(`/operator/v1/cards/${id}/history`)).rows.at(-1);
    expect(Number(anchor['position'])).to.be.greaterThan(Number(before['position']));
    expect(Number(anchor['position'])).to.be.at.least(Number(last?.['position']));
    expect([anchor['log'], typeof anchor['log']]).to.deep.equal([before['log'], 'string']);
    expect([anchor['hash'], anchor['at']]).to.satisfy(
      ([hash, at]: string[]) => /^[0-9a-f]{64}$/.test(hash ?? '') && timestamp.test(at ?? ''),
    );
  });

  it('rebuilds every projection while reads go on', async () => {
    const { rows, body } = await tenant.api('/api/v1/cards');
    const isReady = async (): Promise<boolean> => (await service.anonymous('/readyz')).status === 200;
    await eventually(isReady);
    for (const name of [
      'cards',
      'balances',
      'contacts',
      'organizations',
      'handwritings',
      'api_keys',
      'hooks',
    ]) {
      const answer = await operator(`/operator/v1/projections/${name}/rebuild`, { method: 'POST' });
      expect([answer.status, name], answer.text).to.deep.equal([202, name]);
    }
    expect((await tenant.api('/api/v1/cards')).rows.length).to.equal(rows.length);
    await eventually(isReady);
    expect((await tenant.api('/api/v1/cards')).body).to.deep.equal(body);
    expect((await service.anonymous('/metrics')).text).to.match(/projection/);
  });
});
