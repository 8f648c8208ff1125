import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { read } from '../support/runner/repository.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

describe('GET /operator/v1/exports', () => {
  let service: RunningService;
  let tenant: Tenant;
  let key: string;
  let code: string;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 5 });
    const sent = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    code = String(sent.id);
    await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
    key = (await (await fetch(`${service.baseUrl}/log/key`)).text()).trim().split('\n')[0] ?? '';
  });
  after(() => service.stop());

  const download = (search: string, method = 'GET') =>
    fetch(`${service.baseUrl}/operator/v1/exports?${search}`, {
      method,
      headers: { authorization: `Bearer ${service.operatorToken}` },
    });
  const exported = async (search: string): Promise<Buffer> => {
    const response = await download(search);
    expect([response.status, response.headers.get('content-type')], search).to.deep.equal([
      200,
      'application/jsonl',
    ]);
    return Buffer.from(await response.arrayBuffer());
  };
  const linesOf = (file: Buffer): Fields[] =>
    file
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Fields);

  /** Of the events of the organization so far. */
  const positions = async (): Promise<string[]> => {
    const followed = await fetch(
      `${service.baseUrl}/operator/v1/events?organization=${tenant.org}&until=head`,
      { headers: { authorization: `Bearer ${service.operatorToken}`, accept: 'application/jsonl' } },
    );
    return linesOf(Buffer.from(await followed.text())).map(({ position }) => String(position));
  };

  it('gives a card, an organization and a period that a stranger can check, with what was acknowledged before', async () => {
    for (const search of [
      `card=${code}`,
      `card=${code}&personal=include`,
      `organization=${tenant.org}`,
      'from=0',
      `from=0&organization=${tenant.org}&personal=include`,
      'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&since=1',
    ]) {
      const { report, verified } = verifyExport(await exported(search), { keys: [key] });
      expect([search, verified, report.filter((line) => line.startsWith('FAIL'))]).to.deep.equal([
        search,
        true,
        [],
      ]);
    }
    const position = (await positions()).at(2) ?? '';
    const late = await exported(`from=${position}&organization=${tenant.org}`);
    expect(verifyExport(late, { keys: [key] }).report.at(-1)).to.equal('VERIFIED');
    const first = linesOf(late).find((line) => 'stream' in line);
    expect(first?.['before']).to.deep.include({ org: tenant.org, org_seq: Number(first?.['org_seq']) - 1 });
    const events = linesOf(await exported(`card=${code}`)).slice(1, -1);
    expect(events.map(({ type }) => type)).to.deep.equal(['CardScheduled', 'CardCancelled']);
  });

  it('shows personal data to whoever asks for it, and to nobody else', async () => {
    const shown = linesOf(await exported(`card=${code}&personal=include`))[1];
    const withheld = linesOf(await exported(`card=${code}&personal=withhold`))[1];
    expect([typeof shown?.['personal'], typeof shown?.['key']]).to.deep.equal(['string', 'string']);
    expect([withheld?.['personal'], withheld?.['key']]).to.deep.equal([null, null]);
  });

  it('holds the front that a card was ordered with, if that is asked for', async () => {
    const body = aCard({ arrive_on: '2099-01-01', design_id: 'card:thank-you-botanical' });
    const { id } = await tenant.api('/api/v1/cards', { body });
    const file = await exported(`card=${String(id)}&artwork=include`);
    const [, event, shown] = linesOf(file);
    expect(JSON.parse(String(event?.['data'])).order.design.front).to.equal(shown?.['front']);
    const master = Buffer.from(String(shown?.['bytes']), 'base64');
    expect([...master.subarray(0, 3)]).to.deep.equal([0xff, 0xd8, 0xff]);
    const { report } = verifyExport(file, { keys: [key] });
    expect(report.filter((line) => /front|VERIFIED/.test(line))).to.deep.equal([
      'PASS  every front that an event names has the bytes that it was recorded with: 1 shown, 0 erased or lost',
      'VERIFIED',
    ]);
    expect(linesOf(await exported(`card=${String(id)}&artwork=withhold`))).to.have.length(3);
  });

  it('is recorded for the organization, with the digest of what was taken out', async () => {
    const file = await exported(`card=${code}&personal=include`);
    const last = file.toString().trimEnd().split('\n').at(-1) ?? '';
    const body = file.subarray(0, file.length - Buffer.byteLength(last) - 1);
    const events = linesOf(await exported(`organization=${tenant.org}`));
    const record = events.findLast(({ type }) => type === 'AuditExported');
    expect(record?.['stream']).to.equal(`audit-${tenant.org}`);
    expect(JSON.parse(String(record?.['data']))).to.deep.equal({
      kind: 'card',
      subject: `card-${code}`,
      withPersonal: true,
      withArtwork: false,
      sum: createHash('sha256').update(body).digest('hex'),
    });
  });

  it('refuses what it can not tell apart or does not know', async () => {
    const { operator } = service;
    const at = '/operator/v1/exports';
    const [earlier, later] = await positions();
    for (const [search, status, code_, param] of [
      ['', 400, 'invalid_parameter', 'card'],
      [`?card=${code}&organization=${tenant.org}`, 400, 'invalid_parameter', 'organization'],
      [`?card=${code}&from=0`, 400, 'invalid_parameter', 'from'],
      ['?from=yesterday', 400, 'invalid_parameter', 'from'],
      [`?from=${later}&to=${earlier}`, 400, 'invalid_parameter', 'to'],
      ['?from=0&since=999999', 400, 'invalid_parameter', 'since'],
      ['?from=0&since=-1', 400, 'invalid_parameter', 'since'],
      ['?from=0&personal=all', 400, 'invalid_parameter', 'personal'],
      ['?card=HC-0000000', 404, 'card_not_found', null],
      ['?organization=00000000-0000-4000-8000-000000000000', 404, 'not_found', null],
    ] as const) {
      const reply = await operator(`${at}${search}`);
      expect([search, reply.status, reply.code, reply.param]).to.deep.equal([search, status, code_, param]);
    }
  });

  it('sends nothing to HEAD, and the verifier to everybody', async () => {
    const head = await download(`card=${code}`, 'HEAD');
    expect([head.status, await head.text()]).to.deep.equal([200, '']);
    const verifier = await fetch(`${service.baseUrl}/log/verify.mjs`);
    expect(await verifier.text()).to.equal(read('adapters/log-verifier/verify.mjs'));
    expect(verifier.headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
  });
});
