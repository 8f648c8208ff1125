import { expect } from 'chai';
import { command, type Ended } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';
import {
  aCard,
  clientOf,
  startTestService,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';

describe('the command line of operators', () => {
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 5 });
  });
  after(() => service.stop());

  const cli = (...args: readonly string[]): Promise<Ended> =>
    command(args, { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir });
  const asked = async (...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
    const { code, out, error } = await cli(...args, '--json');
    expect([code, error]).to.deep.equal([0, '']);
    return JSON.parse(out);
  };
  const head = async (): Promise<string> => String((await asked('log', 'status'))['position']);

  it('shows a request, and what it wrote', async () => {
    const sent = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const id = sent.headers.get('x-request-id') ?? '';
    const found = await asked('request', 'show', id);
    expect(found).to.include({ id, method: 'POST', route: '/api/v1/cards', status: 201 });
    expect((await cli('request', 'show', id)).out).to.include('/api/v1/cards');
    expect((await cli('request', 'show', 'req_none')).code).to.equal(1);
  });

  it('adds up the credits of an organization, also those of a period', async () => {
    const { org, api } = await service.tenant({ credits: 7 });
    const from = await head();
    await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    expect(await asked('credits', 'reconcile', org)).to.deep.include({
      opening: 0,
      purchased: 7,
      spent: 1,
      closing: 6,
      findings: [],
    });
    expect(await asked('credits', 'reconcile', '--org', org, '--from', from)).to.deep.include({
      opening: 7,
      purchased: 0,
      spent: 1,
      closing: 6,
    });
  });

  it('finds the contacts of a person, and erases one', async () => {
    const { org, api } = await service.tenant();
    const { id } = await api('/api/v1/contacts', {
      body: { name: 'Ada Lovelace', email: 'ada@example.com' },
    });
    const find = async () => {
      const found = await asked('erase', 'find', '--org', org, '--name', 'lovelace', '--email', 'ada@');
      return (found['contacts'] as readonly { readonly id: string }[]).map((contact) => contact.id);
    };
    await eventually(async () => ((await find()).includes(String(id)) ? true : null));
    const erased = await cli('erase', 'contact', String(id), '--org', org, '--reason', 'was asked for');
    expect([erased.code, erased.error]).to.deep.equal([0, '']);
    await eventually(async () => ((await find()).length === 0 ? true : null));
    const [row] = (await api('/api/v1/contacts')).rows;
    expect(row).to.include({ id, name: null, email: null });
    expect((await cli('erase', 'contact', 'unknown', '--org', org, '--reason', 'none')).code).to.equal(1);
  });

  it('shows with --at what was so then', async () => {
    const { org } = await service.tenant({ credits: 3 });
    const then = await head();
    expect((await cli('credits', 'add', '--org', org, '--amount', '4')).code).to.equal(0);
    const balance = async (...at: readonly string[]) =>
      (await asked('credits', 'show', '--org', org, ...at))['balance'];
    expect([await balance('--at', then), await balance()]).to.deep.equal([3, 7]);
    expect((await cli('credits', 'show', '--org', org, '--at', 'yesterday')).code).to.equal(1);
  });

  it('creates a key of an operator, which may do what it names and nothing else', async () => {
    const created = await asked('key', 'create', '--house', '--scopes', 'operator:audit', '--label', 'Audit');
    const key = String(created['key']);
    expect(key).to.match(/^hco_/);
    const operator = clientOf(service.baseUrl, key);
    expect((await operator('/operator/v1/anchor')).status).to.equal(200);
    expect((await operator('/operator/v1/organizations', { body: { name: 'New' } })).status).to.equal(403);
    const listed = (await asked('key', 'list', '--house'))['data'] as readonly { readonly id: string }[];
    expect(listed.map(({ id }) => id)).to.include(created['id']);
    expect((await cli('key', 'revoke', String(created['id']), '--house')).code).to.equal(0);
    expect((await operator('/operator/v1/anchor')).status).to.equal(401);
  });
});
