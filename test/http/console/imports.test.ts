import { expect } from 'chai';
import { request } from 'node:http';
import { maxFileBytes } from '../../../adapters/http/server/upload.js';
import { startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { eventually } from '../../support/time/eventually.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

describe('the import of contacts in the console', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let page: string;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
    page = `/console/${tenant.org}/contacts/import`;
  });
  after(() => service.stop());

  const send = async (text: string, fields = {}) =>
    owner.upload(page, { ...(await owner.form(page, 'import')), ...fields }, new Blob([text]));
  const done = async (address: string) => {
    await eventually(async () => (await owner.get(address)).text.includes('>done<'));
    return (await owner.get(address)).text;
  };

  it('saves the rows of a file, shows how far it is, and tells the bad lines with their reasons', async () => {
    const good = Array.from({ length: 600 }, (_, at) => `k-${at},Ann ${at},TX\n`).join('');
    const { status, location } = await send(`external_id,name,state\n${good}bad,Bo,Ontario\n,Cy,TX\n`);
    expect(status).to.equal(303);
    const text = await done(location ?? '');
    for (const told of ['602</strong> of 602 rows', '<dd>600</dd>', 'data-refresh'])
      expect(text).to.include(told);
    const csv = (await owner.get(`${location ?? ''}/lines.csv`)).text.split('\r\n');
    expect([csv[0], csv[1]?.split(':')[0], csv[2]]).to.deep.equal([
      'line,reason',
      '602,invalid_recipient',
      '603,it has no external_id',
    ]);
    await eventually(async () => (await tenant.api('/api/v1/contacts?external_id=k-599')).rows.length === 1);
    const again = await send(`external_id,name,state\n${good}`);
    expect(await done(again.location ?? '')).to.include('<dt>Unchanged</dt><dd>600</dd>');
  });

  it('takes the key from a column of another name, and keeps what that says', async () => {
    const { location } = await send('Email,Name\nzoe@example.com,Zoe Ott\n', { key: 'Email' });
    await done(location ?? '');
    const found = () => tenant.api('/api/v1/contacts?email=zoe@example.com');
    await eventually(async () => (await found()).rows.length === 1);
    expect((await found()).rows[0]).to.deep.include({ external_id: 'zoe@example.com', name: 'Zoe Ott' });
  });

  it('shows how the next rows were understood while they wait, and leaves them when it is stopped', async () => {
    const rows = Array.from({ length: 4_000 }, (_, at) => `${at}@x.com,Ann,4${at},1987-05-06,no\n`).join('');
    const { location } = await send(`E-mail,First Name,Address1,birthday,Shoes\n${rows}`, { key: 'E-mail' });
    const { text } = await owner.get(location ?? '');
    const table = text.slice(text.indexOf('How the file was understood'), text.indexOf('Imports are shown'));
    const headings = [...table.matchAll(/<th scope="col"[^>]*>([^<]*)/g)].map(([, name]) => name);
    expect(headings).to.deep.equal([
      'Line',
      'External id',
      'First name',
      'E-mail',
      'Birthday',
      'Street',
      'Column',
      'Why',
    ]);
    expect(table).to.include('05-06').and.not.include('1987');
    const why = 'no field is read from a column of this name';
    expect(table.slice(table.indexOf('Columns that are not read'))).to.match(
      new RegExp(`<th scope="row">Shoes</th><td[^>]*>${why}</td>`),
    );
    const form = await owner.form(location ?? '', 'stop');
    expect((await owner.post(location ?? '', form)).location).to.equal(`${location}?done=importStopped`);
    const stopped = await owner.get(location ?? '');
    expect(stopped.text).to.include('>stopped<').and.not.include('How the file was understood');
    const later = { ...form, form: 'x'.repeat(43) };
    expect((await owner.post(location ?? '', later)).location, 'once it has ended').to.equal(location);
  });

  it('refuses what can’t be read, is too large or was not chosen, and saves nothing of it', async () => {
    for (const [text, told] of [
      ['name\nAnn\n', 'no column external_id'],
      ['', 'The file is empty'],
      [`external_id,name\nlost,Ann\n${'x'.repeat(500_000)}`, 'longer than 400 KiB'],
      [`external_id,name\nlost,Ann\n${'x'.repeat(maxFileBytes + 100_000)}`, 'larger than 32 MiB'],
    ] as const) {
      const refused = await send(text);
      expect([refused.status, refused.text.includes(told)], told).to.deep.equal([422, true]);
    }
    const nothing = await owner.submit(page, 'import');
    expect([nothing.status, nothing.text.includes('Choose a file')]).to.deep.equal([422, true]);
    expect((await tenant.api('/api/v1/contacts?external_id=lost')).rows).to.deep.equal([]);
    expect((await owner.upload(`/console/${tenant.org}/contacts`, {}, new Blob(['']))).status).to.equal(415);
  });

  it('takes three files of an organization at once, and refuses others before they are read', async () => {
    const busy = await service.tenant();
    const visitor = await memberOf(service, busy.org, 'owner');
    const to = `/console/${busy.org}/contacts/import`;
    const file = new Blob([`external_id,name\n${'k,Ann\n'.repeat(5_000)}`]);
    const forms = await Promise.all(Array.from({ length: 12 }, () => visitor.form(to, 'import')));
    const answers = await Promise.all(forms.map((form) => visitor.upload(to, form, file)));
    expect(answers.filter(({ status }) => status === 303)).to.have.length(3);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).to.have.length(9);
    expect(refused[0]?.text).to.include(
      '3 files are being imported or uploaded. Wait until one of them is done.',
    );
    expect(refused[0]?.headers.get('retry-after')).to.match(/^\d+$/);
  });

  it('counts as a form that was sent', async () => {
    const busy = await service.tenant();
    const visitor = await memberOf(service, busy.org, 'owner');
    const nothing = new Blob([]);
    let text = '';
    // A minute that ends meanwhile begins another count.
    for (let sent = 0; sent <= 240 && !text.includes('120 forms may be sent'); sent += 1)
      ({ text } = await visitor.upload(`/console/${busy.org}/contacts/import`, {}, nothing));
    expect(text).to.include('120 forms may be sent');
  });

  it('gives a place back that an upload had which broke off', async () => {
    const busy = await service.tenant();
    const visitor = await memberOf(service, busy.org, 'owner');
    const to = `/console/${busy.org}/contacts/import`;
    const status = async (): Promise<number> =>
      (await visitor.upload(to, await visitor.form(to, 'import'), new Blob(['external_id\n']))).status;
    const unfinished = Array.from({ length: 3 }, () => {
      const sent = request(`${service.baseUrl}${to}`, {
        method: 'POST',
        headers: {
          'content-type': 'multipart/form-data; boundary=x',
          'sec-fetch-site': 'same-origin',
          cookie: visitor.cookie ?? '',
        },
      });
      sent.on('error', () => undefined);
      sent.write('--x\r\n');
      return sent;
    });
    await eventually(async () => (await status()) === 429);
    for (const each of unfinished) each.destroy();
    await eventually(async () => (await status()) === 303);
  });

  it('begins once, however often its form is sent, and only from a page of the service', async () => {
    const form = await owner.form(page, 'import');
    const file = new Blob(['external_id,name\nonce,Ann\n']);
    const [one, two] = await Promise.all([owner.upload(page, form, file), owner.upload(page, form, file)]);
    expect([one.status, two.location]).to.deep.equal([303, one.location]);
    const forged = await owner.upload(page, form, file, { 'sec-fetch-site': 'cross-site' });
    expect(forged.status).to.equal(403);
    const viewer = await memberOf(service, tenant.org, 'viewer');
    expect((await viewer.upload(page, form, file)).status).to.equal(403);
    const other = await service.tenant();
    const stranger = await memberOf(service, other.org, 'owner');
    expect((await stranger.get((one.location ?? '').replace(tenant.org, other.org))).status).to.equal(404);
  });
});
