import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WrongUsage } from '../../../bin/cli/client.js';
import type { FileOptions } from '../../../adapters/http/api/contact-columns.js';
import {
  importContacts,
  type FileRow,
  type ImportResult,
  type RowOutcome,
} from '../../../application/contacts/import-contacts.js';
import { contactsIn } from '../../../bin/cli/contact-verbs.js';
import { command, run, type Ended } from '../../support/servers/programs.js';
import { startTestService, type RunningService, type Tenant } from '../../support/http/service.js';

const inDirectory = async (run: (directory: string) => Promise<void>): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-import-'));
  try {
    await run(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

const rowsOf = async (text: string, options: Partial<FileOptions> = {}): Promise<readonly FileRow[]> => {
  const rows: FileRow[] = [];
  await inDirectory(async (directory) => {
    const path = join(directory, 'contacts.csv');
    await writeFile(path, text);
    for await (const row of contactsIn(path, {
      key: undefined,
      fromLine: 1,
      unread: {},
      ...options,
    }))
      rows.push(row);
  });
  return rows;
};

const brief = (row: FileRow): unknown =>
  'problem' in row ? [row.line, row.problem] : [row.line, row.contact];

const usageError = async (run: Promise<unknown>): Promise<string> => {
  try {
    await run;
  } catch (error) {
    if (error instanceof WrongUsage) return error.message;
    throw error;
  }
  return 'nothing was wrong';
};

describe('a file of contacts', () => {
  it('is read row by row, with the line on which each row begins', async () => {
    const rows = await rowsOf(
      '\ufeffexternal_id,name,city,shoe size\r\n1,"Ann, ""A""",Austin,9\r\n\r\n2,"Two\r\nlines",,\n3,Bo\r , ,\r\n ,Cy,,\r\n4, Di ,,,,\r\n5,Ed,,,,x\r\n',
    );
    expect(rows.map(brief)).to.deep.equal([
      [2, { external_id: '1', name: 'Ann, "A"', address: { city: 'Austin' } }],
      [4, { external_id: '2', name: 'Two\r\nlines' }],
      [6, { external_id: '3', name: 'Bo' }],
      [8, 'it has no external_id'],
      [9, { external_id: '4', name: 'Di' }],
      [10, 'it has 6 cells, but the header has 4'],
    ]);
  });

  it('may have a column of any name as its key', async () => {
    const rows = await rowsOf('id,Customer,name\nx,c-1,Ann\n', { key: 'Customer' });
    expect(rows.map(brief)).to.deep.equal([[2, { external_id: 'c-1', name: 'Ann' }]]);
  });

  it('keeps the field that its key column has a name of, too', async () => {
    const rows = await rowsOf('E-mail,Email,name\nx,ann@x.de,Ann\n', { key: 'Email' });
    expect(rows.map(brief)).to.deep.equal([[2, { external_id: 'ann@x.de', email: 'ann@x.de', name: 'Ann' }]]);
  });

  it('names a column for its key where it has none', async () =>
    expect(await usageError(rowsOf('Name,E-mail 1 - Value\nAnn,a@x.de\n'))).to.include(
      'with --key, such as "E-mail 1 - Value"',
    ));

  it('is read with the addresses of a row in one piece, and that with a street first', async () => {
    const rows = await rowsOf(
      'id,name,Home City,Home Street,Work Street,Work City,Other City\n1,Ann,,,1 A St,Austin,Rome\n2,Bo,Bonn,2 B St,3 C St,Cork,\n3,Cy,,,,Dallas,Elgin\n',
    );
    expect(rows.map(brief)).to.deep.equal([
      [2, { external_id: '1', name: 'Ann', address: { line1: '1 A St', city: 'Austin' } }],
      [3, { external_id: '2', name: 'Bo', address: { line1: '2 B St', city: 'Bonn' } }],
      [4, { external_id: '3', name: 'Cy', address: { city: 'Dallas' } }],
    ]);
  });

  it('can be resumed from a line', async () =>
    expect((await rowsOf('id,name\n1,A\n2,B\n3,C\n', { fromLine: 3 })).map(({ line }) => line)).to.deep.equal(
      [3, 4],
    ));

  it('is refused without a key, without a header, or if it can’t be read', async () => {
    expect(await usageError(rowsOf('name\nAnn\n'))).to.match(/no column external_id/);
    expect(await usageError(rowsOf('key;name;a,b,c,d\n1;Ann\n'))).to.match(
      /which a comma separates, .* sep=;/,
    );
    expect(await usageError(rowsOf('id,name\n1,Ann\n', { key: 'customer' }))).to.match(
      /no column "customer"/,
    );
    expect(await usageError(rowsOf(''))).to.match(/empty/);
    expect(await usageError(rowsOf('id,"name\n1,Ann\n'))).to.match(/names of the columns can't be read/);
    expect(await usageError(rowsOf(`id,name\n1,"${'x'.repeat(500_000)}"\n`))).to.match(/longer than 400 KiB/);
    const missing = contactsIn(join(tmpdir(), 'no such file.csv'), {
      key: undefined,
      fromLine: 1,
      unread: {},
    });
    expect(await usageError(missing.next())).to.match(/can't be read/);
  });
});

describe('an import', () => {
  const numbered = async function* (
    count: number,
    idOf: (line: number) => string = String,
  ): AsyncGenerator<FileRow> {
    for (let line = 2; line < count + 2; line += 1)
      yield { line, bytes: line, externalId: idOf(line), contact: { line } };
  };
  const lineOf = (contact: object): number => ('line' in contact ? Number(contact.line) : 0);

  const run = async (
    rows: AsyncIterable<FileRow>,
    save: (line: number) => Promise<RowOutcome>,
    signal = new AbortController().signal,
  ) => {
    const bad: string[] = [];
    const imported = await importContacts({
      rows,
      save: (contact) => save(lineOf(contact)),
      onBadRow: (line, reason) => bad.push(`${line}: ${reason}`),
      onProgress: () => undefined,
      signal,
    });
    return { imported, bad };
  };
  const done = (changes: Partial<ImportResult>): ImportResult => ({
    created: 0,
    updated: 0,
    same: 0,
    bad: 0,
    bytes: 0,
    resumeAt: null,
    failure: null,
    ...changes,
  });

  it('counts created, replaced and refused contacts, and names the lines of bad rows', async () => {
    const kinds: readonly RowOutcome[] = [
      { kind: 'created' },
      { kind: 'updated' },
      { kind: 'refused', reason: 'no name' },
    ];
    const { imported, bad } = await run(numbered(6), async (line) => kinds[line % 3] ?? { kind: 'created' });
    expect(imported).to.deep.equal(done({ created: 2, updated: 2, bad: 2, bytes: 7 }));
    expect(bad).to.deep.equal(['2: no name', '5: no name']);
  });

  it('holds at most 64 rows at once, of a file of any size', async () => {
    let read = 0;
    let saved = 0;
    let most = 0;
    const rows = (async function* () {
      for await (const row of numbered(2_000)) {
        read += 1;
        most = Math.max(most, read - saved);
        yield row;
      }
    })();
    await run(rows, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      saved += 1;
      return { kind: 'created' };
    });
    expect([saved, most <= 66]).to.deep.equal([2_000, true]);
  });

  it('saves rows with the same external_id in their order', async () => {
    const order: number[] = [];
    await run(
      numbered(40, (line) => `id-${line % 3}`),
      async (line) => {
        for (let turn = 0; turn < 40 - line; turn += 1) await Promise.resolve();
        order.push(line);
        return { kind: 'created' };
      },
    );
    for (const rest of [0, 1, 2]) {
      const lines = order.filter((line) => line % 3 === rest);
      expect(lines).to.deep.equal(lines.toSorted((a, b) => a - b));
    }
  });

  it('stops at a failure, finishes running saves, and names the line from which to resume', async () => {
    const { imported } = await run(numbered(1_000), async (line) => {
      if (line === 10 || line === 12) throw new Error(`line ${line}`);
      await new Promise((resolve) => setImmediate(resolve));
      return { kind: 'created' };
    });
    expect([imported.resumeAt, imported.failure?.message, imported.created < 100]).to.deep.equal([
      10,
      'line 10',
      true,
    ]);
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const { imported } = await run(
      numbered(1_000),
      async (line) => {
        if (line === 6) stop.abort();
        return { kind: 'created' };
      },
      stop.signal,
    );
    expect([
      imported.resumeAt === imported.created + 2,
      imported.created < 100,
      imported.failure,
    ]).to.deep.equal([true, true, null]);
  });
});

describe('the contact and hook commands', () => {
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 0, designs: false });
  });
  after(() => service.stop());

  const environment = () => ({ BASE_URL: service.baseUrl, DATA_DIR: service.dataDir });
  const cli = (...words: readonly string[]): Promise<Ended> => command(words, environment());
  /** In a process of its own: it listens for Ctrl-C. */
  const importing = (...words: readonly string[]): Promise<Ended> =>
    run('cli', ['contact', 'import', ...words], environment());

  it('save and list contacts', async () => {
    const saved = await cli(
      'contact',
      'save',
      '--org',
      tenant.org,
      '--external-id',
      'c',
      '--name',
      'Ann Lee',
      '--city',
      'Austin',
      '--json',
    );
    expect([saved.code, JSON.parse(saved.out)]).to.deep.equal([
      0,
      (await tenant.api('/api/v1/contacts?external_id=c')).rows[0],
    ]);
    expect((await cli('contact', 'list', '--org', tenant.org, '--external-id', 'c')).out).to.contain(
      'Ann Lee',
    );
    const refused = await cli('contact', 'save', '--org', tenant.org, '--name', ' ');
    expect([refused.code, refused.error]).to.deep.equal([
      1,
      'missing_name: Provide at least one of `name`, `first_name` and `last_name`.\n',
    ]);
  });

  it('import a file twice without duplicates, and report bad rows with their lines', () =>
    inDirectory(async (directory) => {
      const other = await service.tenant({ credits: 0, designs: false });
      const path = join(directory, 'contacts.csv');
      const good = Array.from({ length: 200 }, (_, number) => `k-${number},Ann ${number},TX\n`).join('');
      await writeFile(path, `external_id,name,state,Shoes\n${good}bad-1,Bo,Ontario\n,No key,TX\nbad-2,,TX\n`);
      const unread = { Shoes: 'no field is read from a column of this name' };
      const preview = await importing(path, '--org', other.org, '--preview', 'true', '--json');
      const { contacts, bad, unread: notRead } = JSON.parse(preview.out);
      expect([preview.code, contacts, bad, notRead]).to.deep.equal([1, 200, 3, unread]);
      expect((await other.api('/api/v1/contacts')).rows).to.deep.equal([]);
      const first = await importing(path, '--org', other.org, '--json');
      expect([first.code, JSON.parse(first.out)]).to.deep.equal([
        1,
        { created: 200, updated: 0, bad: 3, unread, go_on_with: null },
      ]);
      for (const line of [
        'line 202: invalid_recipient',
        'line 203: it has no external_id',
        'line 204: missing_name',
      ])
        expect(first.error).to.contain(line);
      expect(
        preview.error
          .split('\n')
          .slice(0, 3)
          .map((line) => line.split(':')[0]),
      ).to.deep.equal(['line 202', 'line 203', 'line 204']);
      const second = await importing(path, '--org', other.org, '--from-line', '102');
      expect([second.code, second.out]).to.deep.equal([
        1,
        `Not read:\nShoes  ${unread.Shoes}\n0 created, 100 updated, 3 bad.\n`,
      ]);
      const page = await other.api('/api/v1/contacts?limit=200');
      expect(page.rows.length).to.equal(200);
      expect(
        (await other.api(`/api/v1/contacts?starting_after=${String(page.body['next_cursor'])}`)).rows,
      ).to.deep.equal([]);
    }));

  it('bring back no contact that was erased', () =>
    inDirectory(async (directory) => {
      const other = await service.tenant({ credits: 0, designs: false });
      const path = join(directory, 'contacts.csv');
      await writeFile(path, 'external_id,name\nkept,Bo\ngone,Ada\n');
      expect((await importing(path, '--org', other.org)).code).to.equal(0);
      const { rows } = await other.api('/api/v1/contacts?external_id=gone');
      const erasures = `/operator/v1/organizations/${other.org}/erasures`;
      await service.operator(erasures, { body: { contacts: [rows[0]?.['id']], reason: 'a request' } });
      const again = await importing(path, '--org', other.org);
      expect([again.code, again.out]).to.deep.equal([1, '0 created, 1 updated, 1 bad.\n']);
      expect(again.error).to.contain('line 3: invalid_transition: This contact was erased.');
      const names = (await other.api('/api/v1/contacts')).rows.map(({ name }) => name);
      expect(names).to.deep.equal([null, 'Bo']);
    }));

  it('refuse a file or an organization that does not exist', async () => {
    expect((await importing('nowhere.csv', '--org', tenant.org)).code).to.equal(2);
    const path = new URL(import.meta.url).pathname;
    expect((await importing(path, '--org', 'nobody')).code).to.equal(1);
  });

  it('create, pause, resume and delete a hook, and show its calls', async () => {
    const made: { id: string; token: string; url: string } = JSON.parse(
      (await cli('hook', 'create', '--org', tenant.org, '--label', 'Shop', '--template', 'Hi', '--json')).out,
    );
    expect(made.url).to.equal(`${service.baseUrl}/api/v1/hooks/${made.token}`);
    expect((await cli('hook', 'pause', made.id, '--org', tenant.org)).code).to.equal(0);
    expect((await service.anonymous(`/api/v1/hooks/${made.token}`, { body: {} })).code).to.equal(
      'hook_disabled',
    );
    expect((await cli('hook', 'calls', made.id, '--org', tenant.org)).out).to.contain('hook_disabled');
    expect((await cli('hook', 'resume', made.id, '--org', tenant.org)).code).to.equal(0);
    expect((await cli('hook', 'list', '--org', tenant.org)).out).to.contain('Shop');
    expect((await cli('hook', 'delete', made.id, '--org', tenant.org)).code).to.equal(0);
    expect((await cli('hook', 'pause', made.id, '--org', tenant.org)).error).to.match(/^not_found/);
  });
});
