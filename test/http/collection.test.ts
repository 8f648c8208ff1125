import { expect } from 'chai';
import sharp from 'sharp';
import { firstCollection } from '../../domain/catalogue.js';
import {
  aCard,
  built,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

describe('GET /api/v1/collection', () => {
  let service: RunningService;
  let tenant: Tenant;
  let nothing: Client;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    nothing = await tenant.withScopes('contacts:read');
  });
  after(() => service.stop());

  const put = (slug: string, title: string, active: boolean) =>
    service.operator(`/operator/v1/collection/${slug}`, { method: 'PUT', body: { title, active } });
  const ids = ({ rows }: Reply) => rows.map(({ id }) => id);

  it('lists the cards that are on offer to any key, the latest first, ready to be sent', async () => {
    await put('moving-day', 'Moving Day', true);
    await put('just-because', 'Just Because', false);
    const { body, rows } = await nothing('/api/v1/collection');
    expect([body['object'], body['has_more'], body['next_cursor']]).to.deep.equal(['list', false, null]);
    const stock = firstCollection.map(({ slug }) => `card:${slug}`).toReversed();
    expect(rows.map(({ id }) => id)).to.deep.equal(['card:moving-day', ...stock.slice(1)]);
    expect(rows[0]).to.deep.equal({
      id: 'card:moving-day',
      object: 'collection_card',
      title: 'Moving Day',
      url: `${service.baseUrl}/collection/moving-day`,
      preview_url: null,
    });
    const sent = await tenant.api('/api/v1/cards', { body: aCard({ design_id: rows[0]?.['id'] }) });
    expect(sent.status).to.equal(201);
    await put('just-because', 'Just Because', true);
  });

  it('shows the front of each card that the service brings with it, which a copy keeps', async () => {
    const { rows } = await nothing('/api/v1/collection');
    const drawn = rows.filter(({ id }) => firstCollection.some(({ slug }) => id === `card:${slug}`));
    expect(new Set(drawn.map((row) => row['preview_url'])).size).to.equal(firstCollection.length);
    for (const row of drawn) {
      const picture = await fetch(String(row['preview_url']));
      const { format, width, height } = await sharp(await picture.arrayBuffer()).metadata();
      expect([format, width, height], String(row['id'])).to.deep.equal(['webp', 800, 1120]);
    }
    await tenant.api('/api/v1/cards', { body: aCard({ design_id: 'card:welcome-home' }) });
    const designs = (await nothing('/api/v1/designs')).rows;
    const of = (all: Reply['rows'], field: string, value: string) =>
      all.find((row) => row[field] === value)?.['preview_url'];
    const copied = of(designs, 'collection_slug', 'welcome-home');
    expect(copied)
      .to.be.a('string')
      .and.equal(of(rows, 'id', 'card:welcome-home'));
  });

  it('is paged like every list that can grow, past a card that was withdrawn meanwhile', async () => {
    const all = ids(await nothing('/api/v1/collection'));
    const first = await nothing('/api/v1/collection?limit=5');
    expect(ids(first)).to.deep.equal(all.slice(0, 5));
    expect([first.body['has_more'], first.body['next_cursor']]).to.deep.equal([true, all[4]]);
    await put(String(all[4]).slice('card:'.length), 'Gone', false);
    const rest = await nothing(`/api/v1/collection?starting_after=${String(all[4])}`);
    expect(ids(rest)).to.deep.equal(all.slice(5));
    const refused = await nothing('/api/v1/collection?starting_after=card:nothing');
    expect([refused.status, refused.code, refused.param]).to.deep.equal([
      400,
      'invalid_cursor',
      'starting_after',
    ]);
  });
});

describe('a refusal of a name', () => {
  let service: RunningService;
  let tenant: Tenant;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(() => service.stop());

  const said = ({ status, code, param, body }: Reply) => {
    const { message } = body['error'] as { readonly message: string };
    return [status, code, param, /Did you mean `([^`]*)`\?/.exec(message)?.[1] ?? null];
  };
  const send = (changes: object) => tenant.api('/api/v1/cards', { body: aCard(changes) });

  it('proposes the handwriting that was probably meant', async () => {
    expect(said(await send({ handwriting: 'Evryday' }))).to.deep.equal([
      422,
      'unknown_handwriting',
      'handwriting',
      'Everyday',
    ]);
    expect(said(await send({ handwriting: 'Helvetica' }))[3]).to.equal(null);
    expect(said(await send({ handwriting: 'x'.repeat(90_000) }))[3]).to.equal(null);
  });

  it('proposes the card of the collection, or the saved design, that was probably meant', async () => {
    const proposals = [
      ['card:thankyou-botanical', 'card:thank-you-botanical'],
      ['welcome-home', 'card:welcome-home'],
      ['Welcome Home', 'card:welcome-home'],
      ['card:welcome', 'card:welcome-home'],
      ['Thanks', tenant.design],
      [`${tenant.design.slice(0, -2)}zz`, tenant.design],
      ['00000000-0000-4000-8000-000000000000', null],
    ];
    for (const [design_id, meant] of proposals)
      expect(said(await send({ design_id })), String(design_id)).to.deep.equal([
        404,
        'design_not_found',
        'design_id',
        meant,
      ]);
  });

  it('proposes the card of the collection where the organization has a copy of it', async () => {
    const { api } = await service.tenant({ credits: 5 });
    await built(api('/api/v1/cards', { body: aCard({ design_id: 'card:welcome-home' }) }));
    for (const design_id of ['card:welcom-home', 'Welcome Hone'])
      expect(said(await api('/api/v1/cards', { body: aCard({ design_id }) }))[3]).to.equal(
        'card:welcome-home',
      );
  });

  it('proposes another name to a hook and to the operator, too', async () => {
    const office = `/operator/v1/organizations/${tenant.org}`;
    const { body } = await service.operator(`${office}/hooks`, { body: {} });
    const { recipient } = aCard() as { readonly recipient: object };
    const fired = await service.anonymous(`/api/v1/hooks/${String(body['token'])}`, {
      body: { ...recipient, message: 'Hi', handwriting: 'elegnat' },
    });
    expect(said(fired)[3]).to.equal('Elegant');
    const made = await service.operator(`${office}/hooks`, { body: { design_id: 'card:wellcome-home' } });
    expect(said(made)).to.deep.equal([404, 'design_not_found', 'design_id', 'card:welcome-home']);
    const hand = { method: 'PATCH', body: { house_hand: 'Casul' } };
    expect(said(await service.operator(office, hand))[3]).to.equal('Casual');
  });

  it('proposes one of the values of a field that has only some', async () => {
    expect(said(await tenant.api('/api/v1/cards?status=que'))).to.deep.equal([
      400,
      'invalid_parameter',
      'status',
      'queued',
    ]);
    const events = { url: 'https://example.com/', events: ['card.maild'] };
    expect(said(await tenant.api('/api/v1/webhooks', { body: events }))[3]).to.equal('card.mailed');
  });
});
