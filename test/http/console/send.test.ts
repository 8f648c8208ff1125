import { expect } from 'chai';
import { startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

const filled = {
  'recipient.name': 'Ada Lovelace',
  'recipient.line1': '12 Analytical Way',
  'recipient.city': 'Springfield',
  'recipient.state': 'IL',
  'recipient.zip': '62701',
  message: 'Thank you, Ada.\r\n\r\nBo',
  reference: 'order-1001',
};

describe('the page that sends a card', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let path: string;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 10 });
    owner = await memberOf(service, tenant.org, 'developer');
    path = `/console/${tenant.org}/cards/new`;
  });
  after(() => service.stop());

  const form = async (): Promise<Readonly<Record<string, string>>> => {
    const { text } = await owner.get(path);
    return { form: /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '' };
  };
  const send = async (fields: object) =>
    owner.post(path, { ...(await form()), do: 'send', ...filled, ...fields });
  const errorAt = (text: string, name: string): string | undefined =>
    new RegExp(`id="field-${name}-error" class="error">([^<]*)<`).exec(text)?.[1];

  it('sends a card of the source console, of which webhooks say nothing', async () => {
    const { status, location } = await send({});
    expect([status, location]).to.deep.equal([303, location]);
    const code = location?.split('/').at(-1) ?? '';
    const { body } = await tenant.api(`/api/v1/cards/${code}`);
    expect(body).to.deep.include({ status: 'pending', handwriting: 'Everyday', reference: 'order-1001' });
    const { body: card } = await service.operator(`/operator/v1/cards/${code}`);
    expect([card['source'], card['message']]).to.deep.equal(['console', 'Thank you, Ada.\n\nBo']);
    expect(await tenant.balance()).to.equal(9);
    const { text } = await owner.get(location ?? '');
    expect(text)
      .to.include('A developer')
      .and.match(/<svg[^>]* class="sheet everyday"/);
    // Neither when it is held and released later, nor when it is cancelled in the console.
    const floor = (what: string, body?: object) =>
      service.operator(`/operator/v1/cards/${code}/${what}`, { method: 'POST', ...(body && { body }) });
    expect((await floor('hold', { reason: 'a smudge' })).status).to.equal(200);
    expect((await floor('release')).status).to.equal(200);
    await owner.submit(`/cards/${code}`, 'cancel');
    expect((await tenant.api(`/api/v1/cards/${code}`)).body['status']).to.equal('cancelled');
    expect((await tenant.api('/api/v1/events')).rows).to.deep.equal([]);
  });

  it('makes one card of a form that is sent twice at once and once more', async () => {
    const fields = { ...(await form()), do: 'send', ...filled, reference: 'once' };
    const twice = await Promise.all([owner.post(path, fields), owner.post(path, fields)]);
    const again = await owner.post(path, fields);
    expect(twice.map(({ status }) => status)).to.include(303);
    expect(again.status).to.equal(303);
    expect((await tenant.api('/api/v1/cards?reference=once')).rows).to.have.length(1);
  });

  it('previews another card in a form of its own once the first is sent', async () => {
    const formIn = (text: string): string => /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const { form: id = '' } = await form();
    const post = async (what: string, reference: string, of = id) =>
      owner.post(path, { ...filled, form: of, do: what, reference });
    expect(formIn((await post('preview', 'first')).text)).to.equal(id);
    const first = await post('send', 'first');
    const preview = await post('preview', 'second');
    expect(preview.text).to.include('Ready to send');
    const second = await post('send', 'second', formIn(preview.text));
    expect([first.status, second.status]).to.deep.equal([303, 303]);
    expect(second.location).not.to.equal(first.location);
    expect((await tenant.api('/api/v1/cards?reference=second')).rows).to.have.length(1);
  });

  it('holds a message that does not fit, at no charge', async () => {
    const before = await tenant.balance();
    const { location } = await send({ message: Array.from({ length: 250 }, () => 'a').join('\r\n') });
    const { body } = await tenant.api(`/api/v1/cards/${location?.split('/').at(-1)}`);
    expect(body['status']).to.equal('blocked');
    expect(body['held_reason']).to.include('takes 250 lines in this handwriting; the card has room for 24');
    expect(await tenant.balance()).to.equal(before);
    expect((await tenant.api('/api/v1/events')).rows).to.deep.equal([]);
  });

  it('holds a card to a contact whose e-mail address is on the do-not-mail list', async () => {
    const known = { external_id: 'zoe', name: 'Zoe', email: 'zoe@example.com' };
    const { body } = await tenant.api('/api/v1/contacts', { body: known });
    const list = `/operator/v1/organizations/${tenant.org}/do-not-mail`;
    await service.operator(list, { body: { email: known.email } });
    const sent = { do: 'send', contact: String(body['id']) };
    const preview = await send({ ...sent, do: 'preview' });
    expect(preview.text).to.include('Will be held').and.to.include('is on the do-not-mail list');
    const { location } = await send(sent);
    const card = await tenant.api(`/api/v1/cards/${location?.split('/').at(-1)}`);
    expect(card.body['held_reason']).to.include('is on the do-not-mail list');
  });

  it('refuses at the field, with what was typed, and sends nothing', async () => {
    const before = (await tenant.api('/api/v1/cards')).rows.length;
    for (const [fields, name] of [
      [{ 'recipient.zip': '6270' }, 'recipient.zip'],
      [{ 'recipient.state': 'XX' }, 'recipient.state'],
      [{ message: 'Dear {{name}}' }, 'message'],
      [{ arrive_on: 'soon' }, 'arrive_on'],
      [{ handwriting: 'Wobbly' }, 'handwriting'],
      [{ design_id: 'card:nothing' }, 'design_id'],
    ] as const) {
      const { status, text } = await send(fields);
      expect([status, errorAt(text, name) !== undefined], name).to.deep.equal([422, true]);
      expect(text).to.include('value="12 Analytical Way"');
    }
    expect((await tenant.api('/api/v1/cards')).rows).to.have.length(before);
  });

  it('calls fields by their labels, where it refuses and where it holds', async () => {
    const isRefused = async (fields: object, label: string, field: string): Promise<void> => {
      const refused = (await send(fields)).text;
      const previewed = (await owner.post(path, { ...(await form()), do: 'preview', ...filled, ...fields }))
        .text;
      const [, summary = ''] = /<p class="alert"[^>]*><a [^>]*>([^<]*)</.exec(refused) ?? [];
      for (const told of [
        summary,
        errorAt(refused, field) ?? '',
        /Not ready.*?<\/p>/s.exec(previewed)?.[0] ?? '',
      ])
        expect(told, field)
          .to.include(`“${label}”`)
          .and.not.match(/`|recipient\.|arrive_on/);
    };
    await isRefused({ 'recipient.name': '' }, 'Name', 'recipient.name');
    await isRefused({ 'recipient.line1': '' }, 'Street', 'recipient.line1');
    await isRefused({ 'recipient.zip': '' }, 'ZIP', 'recipient.zip');
    await isRefused({ message: '' }, 'Message', 'message');
    const tooLong = { 'recipient.line1': 'x'.repeat(60), 'recipient.line2': 'y'.repeat(60) };
    const { text } = await owner.post(path, { ...(await form()), do: 'preview', ...filled, ...tooLong });
    expect(text).to.match(/street does not fit the envelope.*apartment, suite, floor does not fit/);
    const card = (await owner.get((await send(tooLong)).location ?? '')).text;
    expect(card.match(/street does not fit/g)).to.have.length(2);
    expect(card).not.to.match(/line[12] does not fit/);
  });

  it('shows the message as it would be written, and what would come of it, and spends nothing', async () => {
    const before = await tenant.balance();
    const preview = async (fields: object) =>
      (await owner.post(path, { ...(await form()), do: 'preview', ...filled, ...fields })).text;
    const ready = await preview({ handwriting: 'Elegant' });
    expect(ready)
      .to.match(/<svg[^>]* class="sheet elegant"/)
      .and.include('>Thank you, Ada.</text>');
    expect(ready).to.include('Ready to send').and.include('value="order-1001"');
    const beyond = await preview({ message: 'Bravo 🎉 Ǝ', handwriting: 'Architect' });
    expect(beyond).to.include('Will be held').and.include('A person has to write what is missing');
    expect(beyond).to.match(/Shown here in another typeface: Ǝ</);
    const unfinished = await preview({ 'recipient.name': '', 'recipient.zip': '' });
    expect(unfinished).to.include('Not ready').and.include('>Thank you, Ada.</text>');
    expect(await tenant.balance()).to.equal(before);
  });

  it('offers designs by their pictures, the newest chosen, and shows the front and the envelope before it is paid', async () => {
    const { text } = await owner.get(path);
    const offered = text.match(/<input type="radio" name="design_id"[^>]*>/g) ?? [];
    expect(offered.map((radio) => radio.includes(' checked')).indexOf(true)).to.equal(0);
    expect(offered[0]).to.include(`value="${tenant.design}"`);
    const { rows } = await tenant.api('/api/v1/collection');
    expect(offered).to.have.length(1 + rows.length);
    const thumbnail = /value="card:welcome-home"[^>]*><img[^>]*>/.exec(text)?.[0];
    expect(thumbnail).to.match(
      /src="\/pictures\/\w+\/thumbnail\.webp" alt(?:="")? width="240" height="336" loading="lazy"/,
    );
    const previewed = async (fields: object) => {
      const page = await owner.post(path, { ...(await form()), do: 'preview', ...filled, ...fields });
      return page.text.slice(page.text.indexOf('<section id="preview"'));
    };
    const chosen = { design_id: 'card:welcome-home', handwriting: 'Casual', 'recipient.state': 'il' };
    const [, picture = 'none'] = /(\/pictures\/\w+\/)thumbnail/.exec(thumbnail ?? '') ?? [];
    const whole = await previewed(chosen);
    expect(whole).to.include(`src="${picture}preview.webp" alt="Welcome Home: its picture"`);
    const [, envelope = ''] = whole.split('<h3 class="small" id="envelope">');
    expect([...envelope.matchAll(/>([^<]+)<\/text>/g)].map(([, line]) => line)).to.deep.equal([
      'Ada Lovelace',
      '12 Analytical Way',
      'Springfield IL 62701',
    ]);
    expect(envelope).to.include('class="sheet casual" viewBox="0 0 522 378"');
    expect(await previewed({ 'recipient.zip': '' })).to.include('aria-label="Nothing is written yet"');
  });

  it('says what a card costs, and lets nobody send who may only look', async () => {
    expect((await owner.get(path)).text).to.match(/sends the card and spends 1 of \d+ credits/);
    const viewer = await memberOf(service, tenant.org, 'viewer');
    expect((await viewer.get(path)).status).to.equal(403);
    expect((await viewer.post(path, { do: 'send', form: 'x', ...filled })).status).to.equal(403);
  });

  it('fills the address in from a contact, found by e-mail or external id, and keeps whose it was', async () => {
    const { id } = await tenant.api('/api/v1/contacts', {
      body: {
        name: 'Grace Hopper',
        email: 'grace@example.com',
        external_id: 'g-1',
        address: { line1: '1 Navy Way', city: 'Arlington', state: 'VA', zip: '22201' },
      },
    });
    for (const find of ['grace@example.com', 'g-1'])
      expect((await owner.get(`${path}?find=${find}`)).text).to.include(`${path}?contact=${id}`);
    const { text } = await owner.get(`${path}?contact=${id}`);
    expect(text).to.include('value="Grace Hopper"').and.include('value="1 Navy Way"');
    const other = await service.tenant();
    const stranger = await memberOf(service, other.org, 'owner');
    expect((await stranger.get(`/console/${other.org}/cards/new?contact=${id}`)).text).not.to.include(
      'Grace',
    );
    const { location } = await send({ contact: id });
    const events = await service.operator(`/operator/v1/cards/${location?.split('/').at(-1)}/history`);
    expect(events.text).to.include(id);
  });
});
