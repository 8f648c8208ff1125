import { expect } from 'chai';
import { uploadPicture } from '../../support/artwork/upload.js';
import { house } from '../../../domain/members.js';
import { eventually } from '../../support/time/eventually.js';
import {
  aCard,
  built,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { memberOf, operatorOf, password, Visitor } from '../../support/http/visitor.js';

describe('what an organization looks after in the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let operator: Visitor;
  let home: string;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant({ credits: 200 });
    owner = await memberOf(service, tenant.org, 'owner');
    operator = await operatorOf(service);
    home = `/console/${tenant.org}`;
  });
  after(() => service.stop());

  const designs = async () => (await tenant.api('/api/v1/designs')).rows;

  describe('its designs', () => {
    it('are saved, renamed and archived, and the newest is the default', async () => {
      const picture = await uploadPicture(owner, tenant.org, 'Blue');
      await owner.submit(picture, 'save', { fit: 'fill' });
      const saved = await designs();
      expect(saved.map(({ name }) => name)).to.deep.equal(['Blue', 'Thanks']);
      expect((await owner.get(`${home}/designs`)).text).to.match(
        /Blue<\/strong><span class="badge good">Default/,
      );
      const design = String(saved[0]?.['id']);
      const renamed = await owner.submit(`${home}/designs`, 'rename', { design, name: 'Navy' });
      expect(renamed.location).to.equal(`${home}/designs?done=designRenamed`);
      expect((await designs()).map(({ name }) => name)).to.deep.equal(['Navy', 'Thanks']);
      await owner.submit(`${home}/designs`, 'archive', { design });
      expect((await designs()).map(({ name }) => name)).to.deep.equal(['Thanks']);
    });

    it('get a copy of a card of the collection, once', async () => {
      for (const told of ['?done=designSaved', '']) {
        const form = await owner.form(`${home}/designs`, 'copy');
        const { location } = await owner.post(`${home}/designs`, { ...form, slug: 'welcome-home' });
        expect(location).to.equal(`${home}/designs${told}`);
      }
      const copies = (await designs()).filter(({ collection_slug: slug }) => slug === 'welcome-home');
      expect(copies.map(({ name }) => name)).to.deep.equal(['Welcome Home']);
    });

    it('are withdrawn by those who run the service, who tell why and may put them back', async () => {
      const other = await service.tenant({ credits: 1 });
      const page = `/console/${other.org}/designs`;
      const its = await memberOf(service, other.org, 'owner');
      const { id: card } = await other.api('/api/v1/cards', { body: aCard({ arrive_on: '2030-06-14' }) });
      const fields = { design: other.design, reason: 'It is <not> yours.' };
      const refused = await its.post(page, { do: 'withdraw', form: 'own', ...fields });
      expect(refused.status).to.equal(403);
      const { location } = await operator.submit(page, 'withdraw', fields);
      expect(location).to.equal(`${page}?done=designWithdrawn`);
      const { text } = await its.get(page);
      expect(text).to.include('<strong>Thanks</strong>: It is &lt;not> yours.').and.include('No design yet');
      expect(text).not.to.include('Put back into use');
      await eventually(async () =>
        (await its.get(`/cards/${card}`)).text.includes(
          'Held, not charged.</strong> The design was withdrawn: It is &lt;not> yours. Cancel the card',
        ),
      );
      const held = '/console/house/held';
      const release = (form: string) => operator.post(held, { do: 'release', form, card });
      expect((await release('too early')).text).to.include('The design was withdrawn: It is &lt;not> yours.');
      await operator.submit(page, 'reinstate', { design: other.design });
      expect((await its.get(page)).text)
        .to.include('Default')
        .and.not.include('Withdrawn');
      expect((await release('later')).location).to.equal(`${held}?done=cardReleased`);
    });

    it('are shown sixty at a time, and the newest hundred in the form, with any that was chosen', async () => {
      const many = await service.tenant();
      const its = await memberOf(service, many.org, 'owner');
      const office = `/operator/v1/organizations/${many.org}/designs`;
      for (let n = 1; n <= 100; n++) await built(service.operator(office, { body: { name: `No. ${n}` } }));
      const page = `/console/${many.org}/designs`;
      const named = (text: string) =>
        [...text.matchAll(/<strong>(No\. \d+|Thanks)<\/strong>/g)].map(([, name]) => name);
      const first = (await its.get(page)).text;
      const [, older = ''] = /<a class="button second" href="([^"]+)">\s*Older/.exec(first) ?? [];
      const second = (await its.get(older)).text;
      const all = [...Array.from({ length: 100 }, (_, at) => `No. ${100 - at}`), 'Thanks'];
      expect([named(first), named(second)]).to.deep.equal([all.slice(0, 60), all.slice(60)]);
      expect([first.includes('Default'), second.includes('Default'), second.includes('Older')]).to.deep.equal(
        [true, false, false],
      );
      const form = `/console/${many.org}/cards/new`;
      const offered = (text: string) => [
        ...text.matchAll(/name="design_id" value="([\w-]{36})"( checked)?/g),
      ];
      const newest = offered((await its.get(form)).text);
      expect(newest).to.have.length(100);
      expect(second).to.include(`href="${form}?design=${many.design}">Send a card`);
      const chosen = offered((await its.get(`${form}?design=${many.design}`)).text);
      expect(chosen).to.have.length(101);
      expect(chosen.filter(([, , checked]) => checked !== undefined).map(([, id]) => id)).to.deep.equal([
        many.design,
      ]);
      const preview = await its.submit(form, 'preview', {
        do: 'preview',
        design_id: many.design,
        message: 'Thank you.',
      });
      expect(offered(preview.text).at(-1)?.slice(1)).to.deep.equal([many.design, ' checked']);
    });

    it('are erased also when they are archived already, sixty at a time', async () => {
      const many = await service.tenant();
      const its = await memberOf(service, many.org, 'owner');
      const page = `/console/${many.org}/designs`;
      await its.submit(await uploadPicture(its, many.org, 'Old'), 'save', { fit: 'fill' });
      const [old] = (await many.api('/api/v1/designs')).rows;
      await its.submit(page, 'archive', { design: String(old?.['id']) });
      const office = `/operator/v1/organizations/${many.org}/designs`;
      for (let n = 1; n <= 60; n++) {
        const copy = { name: `Copy ${n}`, collection_slug: 'welcome-home' };
        const { id } = await built(service.operator(office, { body: copy }));
        await service.operator(`${office}/${id}`, { method: 'DELETE' });
      }
      const archived = (text: string) => text.split('id="archived"')[1]?.split('</section>')[0] ?? '';
      const named = (text: string) =>
        [...archived(text).matchAll(/<strong>(Copy \d+|Old)</g)].map(([, name]) => name);
      const { text } = await its.get(page);
      const copies = Array.from({ length: 60 }, (_, at) => `Copy ${60 - at}`);
      expect(named(text)).to.deep.equal(copies);
      const [, older = ''] = /<a class="button second" href="([^"]+)">\s*Older/.exec(archived(text)) ?? [];
      expect(named((await its.get(older)).text)).to.deep.equal(['Old']);
      const viewer = await memberOf(service, many.org, 'viewer');
      expect(named((await viewer.get(page)).text)).to.deep.equal([]);
      const { location } = await its.submit(older, 'erase', { design: String(old?.['id']) });
      expect(location).to.equal(`${page}?done=designErased`);
      expect(named((await its.get(older)).text)).not.to.include('Old');
    });

    it('are of the organization alone', async () => {
      const other = await service.tenant();
      const fields = { do: 'rename', form: 'foreign', design: other.design, name: 'Mine' };
      expect((await owner.post(`${home}/designs`, fields)).status).to.equal(404);
    });
  });

  describe('the collection', () => {
    it('is shown to everybody, at the address that the API names', async () => {
      const { rows } = await tenant.api('/api/v1/collection?limit=1');
      const { pathname } = new URL(String(rows[0]?.['url']));
      const anybody = new Visitor(service);
      expect((await anybody.get('/collection')).text)
        .to.include(pathname)
        .and.include(String(rows[0]?.['title']));
      const { status, text } = await anybody.get(pathname);
      expect([status, text.includes(String(rows[0]?.['id']))]).to.deep.equal([200, true]);
      await service.operator('/operator/v1/collection/short-lived', {
        method: 'PUT',
        body: { title: 'Short-lived', active: false },
      });
      expect((await anybody.get('/collection/short-lived')).status).to.equal(404);
    });
  });

  describe('a link to the collection', () => {
    const tagsOf = async (path: string) => {
      const { text } = await new Visitor(service).get(path);
      return Object.fromEntries(
        [...text.matchAll(/<meta (?:property|name)="([\w:]+)" content="([^"]*)"/g)].map(
          ([, name = '', content]) => [name, content],
        ),
      );
    };

    it('is shown elsewhere with the title, a sentence and the front of the card', async () => {
      const { rows } = await tenant.api('/api/v1/collection');
      const shown = rows.find(({ id }) => id === 'card:welcome-home');
      expect(await tagsOf('/collection/welcome-home')).to.deep.include({
        description: 'A greeting card, written with a pen.',
        'og:title': 'Welcome Home',
        'og:description': 'A greeting card, written with a pen.',
        'og:type': 'website',
        'og:site_name': 'Handwritten Cards',
        'og:url': shown?.['url'],
        'og:image': shown?.['preview_url'],
        'og:image:alt': 'Welcome Home',
        'twitter:card': 'summary',
      });
      expect((await fetch(String(shown?.['preview_url']))).status).to.equal(200);
      const all = await tagsOf('/collection');
      const first = rows.find((row) => row['preview_url'] !== null);
      expect([all['og:title'], all['og:image']]).to.deep.equal(['Collection', first?.['preview_url']]);
    });

    it('has no picture where the card has none, and no page of customers has these tags', async () => {
      const [slug, title] = ['mere-name', 'A "mere" name'];
      await service.operator(`/operator/v1/collection/${slug}`, {
        method: 'PUT',
        body: { title, active: true },
      });
      const tags = await tagsOf(`/collection/${slug}`);
      expect([tags['og:title'], 'og:image' in tags]).to.deep.equal(['A &quot;mere&quot; name', false]);
      await service.operator(`/operator/v1/collection/${slug}`, {
        method: 'PUT',
        body: { title, active: false },
      });
      expect((await owner.get(home)).text).not.to.include('og:');
    });
  });

  describe('its settings', () => {
    it('choose the name, and the house hand of cards from then on', async () => {
      const settings = `${home}/settings`;
      const shownBefore = await owner.form(settings, 'chooseHand');
      expect((await owner.submit(settings, 'rename', { name: 'Acme & Co' })).status).to.equal(303);
      expect((await owner.post(settings, { ...shownBefore, house_hand: 'Elegant' })).status).to.equal(303);
      const { body } = await tenant.api('/api/v1/account');
      expect(body['organization']).to.deep.include({ name: 'Acme & Co' });
      const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
      expect((await tenant.api(`/api/v1/cards/${id}`)).body['handwriting']).to.equal('Elegant');
      for (const [action, field, value] of [
        ['rename', 'name', ''],
        ['chooseHand', 'house_hand', ''],
        ['chooseHand', 'house_hand', 'Wobbly'],
      ] as const) {
        const { status, text } = await owner.submit(settings, action, { [field]: value });
        const isAtField = text.includes(`id="field-${field}-error"`);
        expect([status, isAtField], `${action} ${value}`).to.deep.equal([422, true]);
      }
    });

    it('stay changeable while the house hand is withdrawn, and say that it is', async () => {
      const offer = (active: boolean) =>
        service.operator('/operator/v1/handwriting/Elegant', { method: 'PUT', body: { active } });
      const settings = `${home}/settings`;
      await owner.submit(settings, 'chooseHand', { house_hand: 'Elegant' });
      expect((await owner.get(settings)).text).not.to.include('Elegant is withdrawn');
      expect((await offer(false)).status).to.equal(200);
      await eventually(async () => (await owner.get(settings)).text.includes('Elegant is withdrawn'));
      expect((await owner.submit(settings, 'rename', { name: 'Acme' })).status).to.equal(303);
      expect((await owner.submit(settings, 'chooseHand', { house_hand: 'Casual' })).status).to.equal(303);
      expect((await owner.get(settings)).text).not.to.include('is withdrawn');
      expect((await offer(true)).status).to.equal(200);
    });

    it('list whom not to mail, and take them off again', async () => {
      const list = `${home}/settings/do-not-mail`;
      await owner.submit(list, 'add', { email: 'zoe@example.com' });
      expect((await owner.get(list)).text).to.include('zoe@example.com');
      await owner.submit(list, 'remove');
      expect((await owner.get(list)).text).to.include('The list is empty');
      expect((await owner.submit(list, 'add', { email: 'nobody' })).status).to.equal(422);
    });

    it('invite people with a link that is shown once, change their role, reset and remove them', async () => {
      const list = `${home}/settings/members`;
      const form = await owner.form(list, 'invite');
      const fields = { ...form, email: 'bo@acme.example', name: 'Bo Ott', role: 'viewer' };
      const made = await owner.post(list, fields);
      const link = /<code>(http[^<]*\/console\/join\/[^<]*)<\/code>/.exec(made.text)?.[1] ?? '';
      expect((await owner.post(list, fields)).location).to.equal(`${list}?done=linkMade`);
      expect((await owner.get(list)).text).not.to.include(link);
      const bo = new Visitor(service);
      await bo.submit(new URL(link).pathname, 'join', { name: 'Bo Ott', password });
      expect((await bo.get(`${home}/cards`)).status).to.equal(200);
      const { rows } = await service.operator(`/operator/v1/organizations/${tenant.org}/members`);
      const member = String(rows.find(({ email }) => email === 'bo@acme.example')?.['id']);
      await owner.submit(list, 'changeRole', { member, role: 'developer' });
      expect((await bo.get(`${home}/cards/new`)).status).to.equal(200);
      const reset = await owner.submit(list, 'reset', { member });
      expect(reset.text).to.match(/\/console\/reset\/[\w-]{43}/);
      await owner.submit(list, 'remove', { member });
      expect((await bo.get(`${home}/cards`)).status).to.equal(404);
    });

    it('keep an owner', async () => {
      const { rows } = await service.operator(`/operator/v1/organizations/${tenant.org}/members`);
      const member = String(rows.find(({ role }) => role === 'owner')?.['id']);
      const fields = { do: 'remove', form: 'the last owner', member };
      expect((await owner.post(`${home}/settings/members`, fields)).status).to.be.oneOf([409, 422]);
    });
  });

  describe('its credits', () => {
    const parsed = (csv: string): readonly (readonly string[])[] =>
      csv
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(','));

    /** Looks at the statement: each line must follow from the one before. Returns the last balance. */
    const addedUp = async (): Promise<number> => {
      const [, ...rows] = parsed((await owner.get(`${home}/credits.csv`)).text);
      const balances = rows.map(([, , , balance]) => Number(balance));
      const before = rows.map(([, , change, balance]) => Number(balance) - Number(change));
      expect(before).to.deep.equal([...balances.slice(1), 0]);
      return balances[0] ?? 0;
    };

    it('have a statement whose newest line is the balance, and that adds up, with 100 sends running', async () => {
      const look = async (): Promise<void> => {
        const { text } = await owner.get(`${home}/credits`);
        const figure = /<strong>([\d,]+)<\/strong>credits/.exec(text)?.[1];
        const [, newest] = /Statement<.*?class="number">([\d,]+)<\/td><\/tr>/s.exec(text) ?? [];
        expect(newest).to.equal(figure);
      };
      const before = await addedUp();
      let isSending = true;
      const sends = Array.from({ length: 100 }, () => tenant.api('/api/v1/cards', { body: aCard() }));
      const sent = Promise.all(sends).finally(() => (isSending = false));
      do expect((await Promise.all([look(), addedUp()]))[1]).to.be.within(before - 100, before);
      while (isSending);
      expect((await sent).map(({ status }) => status)).to.deep.equal(sends.map(() => 201));
      await look();
      expect([await addedUp(), await tenant.balance()]).to.deep.equal([before - 100, before - 100]);
      const [head] = parsed((await owner.get(`${home}/credits.csv`)).text);
      expect(head).to.deep.equal(['at', 'what', 'change', 'balance', 'card', 'reason', 'reference']);
    });

    it('are added by the operator, once for a reference, and by nobody else', async () => {
      const before = await tenant.balance();
      const fields = { amount: '40', reference: 'invoice 7', reason: '=HYPERLINK("http://evil.example")' };
      for (let time = 0; time < 2; time++) await operator.submit(`${home}/credits`, 'add', fields);
      expect(await tenant.balance()).to.equal(before + 40);
      const other = await operator.submit(`${home}/credits`, 'add', { ...fields, amount: '41' });
      expect([other.status, await tenant.balance()]).to.deep.equal([409, before + 40]);
      for (const amount of ['', '0', '-1', '1.5', 'ten'])
        expect((await operator.submit(`${home}/credits`, 'add', { amount })).status, amount).to.equal(422);
      expect((await owner.get(`${home}/credits`)).text).not.to.include('Add credits');
      expect((await owner.get(`${home}/credits`)).text).to.include('Reference invoice 7');
    });

    it('are added once by a form, whoever takes it over after a crash: it buys under a reference of its own', async () => {
      await operator.submit(`${home}/credits`, 'add', { amount: '7', reference: '', reason: 'by a form' });
      const [, row = []] = parsed((await owner.get(`${home}/credits.csv`)).text);
      const reference = row[6] ?? '';
      expect(reference).to.match(/^console-[\da-f-]{36}$/);
      const before = await tenant.balance();
      const path = `/operator/v1/organizations/${tenant.org}/credits`;
      const again = await service.operator(path, { body: { amount: 7, reason: 'by a form', reference } });
      expect([again.status, await tenant.balance()]).to.deep.equal([201, before]);
    });

    it('don’t say to customers which of the staff added them, also after they have left', async () => {
      const staff = await memberOf(service, house, 'operator', 'staff@cards.example', 'Una Staff');
      await staff.submit(`${home}/credits`, 'add', { amount: '1', reference: 'invoice 8' });
      const look = async () => {
        expect((await operator.get(`${home}/credits`)).text).to.include('Una Staff');
        expect((await owner.get(`${home}/credits`)).text)
          .to.include('the operator')
          .and.not.include('Una Staff');
      };
      await look();
      await memberOf(service, house, 'operator', 'other@cards.example', 'Olaf Other');
      const members = `/operator/v1/organizations/${house}/members`;
      const una = (await service.operator(members)).rows.find(({ name }) => name === 'Una Staff');
      const left = await service.operator(`${members}/${String(una?.['id'])}`, { method: 'DELETE' });
      expect(left.status).to.equal(200);
      await look();
    });

    it('come as CSV in which no cell is a formula, of the days that are asked for', async () => {
      const { text, headers } = await owner.get(`${home}/credits.csv`);
      expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).to.equal('attachment; filename="credits.csv"');
      expect(text).to.include(`"'=HYPERLINK(""http://evil.example"")"`);
      expect(parsed((await owner.get(`${home}/credits.csv?to=2000-01-01`)).text)).to.have.length(1);
      expect(parsed((await owner.get(`${home}/credits.csv?from=2000-01-01`)).text).length).to.be.above(100);
      for (const query of ['from=2026-3-2', 'to=03/02/2026'])
        expect((await owner.get(`${home}/credits.csv?${query}`)).status, query).to.be.oneOf([400, 422]);
    });
  });
});
