import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';
import { eventually } from '../../support/time/eventually.js';

describe('the pages about deliveries', () => {
  let service: RunningService;
  let tenant: Tenant;
  let receiver: Receiver;
  let owner: Visitor;
  let list: string;
  let endpoint: string;

  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '20ms', WEBHOOK_DISABLE_AFTER: '1000' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
    list = `/console/${tenant.org}/deliveries`;
    endpoint = (await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).id;
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  const rows = async (query: string): Promise<readonly Fields[]> =>
    (await tenant.api(`/api/v1/deliveries?${query}`)).rows;
  /** The delivery of a card that nobody took: it has no attempt left. */
  const aDeadLetter = async (): Promise<{ readonly card: string; readonly id: string }> => {
    receiver.answer = (response) => response.writeHead(503).end('<b>Sorry</b>');
    const card = (await tenant.api('/api/v1/cards', { body: aCard() })).id;
    const [dead] = await eventually(async () => {
      const found = await rows(`card=${card}&status=exhausted`);
      return found.length > 0 && found;
    });
    return { card, id: String(dead?.['id']) };
  };
  const delivered = (card: string) =>
    eventually(async () => (await rows(`card=${card}&status=delivered`)).length === 1);

  it('send a failed delivery again in two clicks from home, once a form', async () => {
    const { card } = await aDeadLetter();
    const home = (await owner.get(`/console/${tenant.org}`)).text;
    const [, link = ''] = /href="([^"]*\/deliveries\?status=exhausted)"/.exec(home) ?? [];
    expect((await owner.get(link)).text)
      .to.include(card)
      .and.to.include('Dead letter');
    receiver.answer = 200;
    const before = receiver.received.length;
    const form = await owner.form(link, 'retry');
    for (const answer of [await owner.post(link, form), await owner.post(link, form)])
      expect([answer.status, answer.location]).to.deep.equal([303, `${list}?status=exhausted&done=retried`]);
    await delivered(card);
    expect(receiver.received).to.have.length(before + 1);
    expect((await owner.get(link)).text).to.include('No delivery is like this');
    expect((await owner.get(`/console/${tenant.org}`)).text).not.to.include('Dead letters');
  });

  it('show what was sent and answered as text, and of signatures the names alone', async () => {
    const { card, id } = await aDeadLetter();
    const { text } = await owner.get(`${list}/${id}`);
    const [, shown = ''] = /service-event: card\.created([^]*?)<\/pre>/.exec(text) ?? [];
    expect(shown).to.include(`service-delivery: ${id}`).and.to.include(`card&quot;:&quot;${card}`);
    for (const name of ['service-signature', 'webhook-signature', 'webhook-timestamp'])
      expect(shown).to.include(`${name}: set for each attempt`);
    expect(text).not.to.match(/v1[=,]|t=\d/);
    expect(text)
      .to.include('&lt;b>Sorry&lt;/b>')
      .and.to.include('2 of 2')
      .and.to.match(/\d+ ms/);
    receiver.answer = 200;
    const again = await owner.submit(`${list}/${id}`, 'retry');
    expect(again.location).to.equal(`${list}/${id}?done=retried`);
    await delivered(card);
    const done = await owner.get(`${list}/${id}`);
    expect(done.text).to.include('Delivered').and.not.to.include('Retry now');
    const refused = await owner.post(`${list}/${id}`, { do: 'retry', form: 'late' });
    expect([
      refused.status,
      refused.text.includes('It is not sent again. Look up its card instead.'),
    ]).to.deep.equal([409, true]);
  });

  it('send a card’s deliveries again from the page of the card', async () => {
    const { card, id } = await aDeadLetter();
    const form = await owner.form(`/cards/${card}`, 'retry');
    expect(form).to.include({ delivery: id });
    expect((await owner.get(`/cards/${card}`)).text).to.include(`action="${list}/${id}"`);
    receiver.answer = 200;
    expect((await owner.post(`${list}/${id}`, form)).status).to.equal(303);
    await delivered(card);
  });

  it('send all dead letters of an endpoint since a time again', async () => {
    const { card } = await aDeadLetter();
    receiver.answer = 200;
    const redrive = (fields: Readonly<Record<string, string>>) => owner.submit(list, 'redrive', fields);
    expect((await redrive({ to: endpoint, since: 'soon' })).status).to.equal(422);
    expect((await redrive({ to: tenant.org, since: '2020-01-01T00:00' })).status).to.equal(404);
    expect((await redrive({ to: endpoint, since: '2999-01-01T00:00' })).status).to.equal(303);
    expect(await rows(`card=${card}&status=exhausted`)).to.have.length(1);
    const done = await redrive({ to: endpoint, since: '2020-01-01T00:00' });
    expect(done.location).to.equal(`${list}?done=redriven`);
    await delivered(card);
  });

  it('are found by endpoint, status, event and card, fifty at a time', async () => {
    receiver.answer = 200;
    const cards: string[] = [];
    for (let count = 0; count < 51; count++)
      cards.push((await tenant.api('/api/v1/cards', { body: aCard() })).id);
    await eventually(async () => (await rows(`status=delivered&limit=100`)).length >= cards.length);
    const codesIn = (text: string) => new Set(text.match(/HC-\w{7}(?=<\/a>)/g));
    const first = (await owner.get(`${list}?status=delivered`)).text;
    const [, older = ''] = /href="([^"]*)">\s*Older/.exec(first) ?? [];
    const second = (await owner.get(older.replaceAll('&amp;', '&'))).text;
    expect(codesIn(first).size).to.equal(50);
    expect([...codesIn(second)].filter((code) => codesIn(first).has(code))).to.deep.equal([]);
    const [card = ''] = cards;
    const found = (
      await owner.get(`${list}?card=${card.toLowerCase()}&endpoint=${endpoint}&type=card.created`)
    ).text;
    expect([...codesIn(found)]).to.deep.equal([card]);
    for (const query of ['status=dropped', 'type=card.mailed', 'card=HC-0000000', `endpoint=${tenant.org}`])
      expect((await owner.get(`${list}?${query}`)).text, query).to.include('No delivery is like this');
    expect((await owner.get(`${list}?before=nonsense`)).status).to.equal(400);
  });

  it('answer alike for a delivery of somebody else and for none', async () => {
    const { id } = await aDeadLetter();
    const other = await service.tenant();
    const stranger = await memberOf(service, other.org, 'owner');
    const theirs = `/console/${other.org}/deliveries`;
    const said = async (delivery: string) => {
      const pages = [
        await stranger.get(`${theirs}/${delivery}`),
        await stranger.post(`${theirs}/${delivery}`, { do: 'retry', form: `a ${delivery}` }),
        await stranger.post(theirs, { do: 'retry', form: `b ${delivery}`, delivery }),
        await stranger.get(`${theirs}?before=${delivery}`),
      ];
      return pages.map(({ status, text }) => [status, text.replaceAll(/req_[\w-]+/g, 'req_')]);
    };
    const [real, none] = [await said(id), await said('dlv_none')];
    expect(real).to.deep.equal(none);
    expect(real.map(([status]) => status)).to.deep.equal([404, 404, 404, 400]);
    expect((await rows('status=exhausted'))[0]).to.deep.include({ id, status: 'exhausted' });
  });
});
