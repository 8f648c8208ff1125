import { expect } from 'chai';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveUpKeysOf } from '../../bin/offline/personal-data.js';
import { markDirectory } from '../../bin/settings/rehearsal-mark.js';
import { readSettings } from '../../bin/settings/settings.js';
import { explain } from '../../bin/wiring/exit.js';
import { aCard, clientOf, clientsOf, type Tenant } from '../support/http/service.js';
import { refusalOf, serviceIn } from '../support/http/service-in.js';

describe('a key with a wrong character in its file', () => {
  let directory = '';
  let tenant: Tenant;
  let sent = '';

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const service = await serviceIn(directory);
    tenant = await clientsOf(service).tenant();
    sent = (await clientOf(service.baseUrl, tenant.key)('/api/v1/cards', { body: aCard() })).id;
    await service.stop();
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const withWrong = async (file: string, run: () => Promise<void>): Promise<void> => {
    const path = join(directory, file);
    const right = await readFile(path, 'utf8');
    const changed = right.replace(/:(.)/, (_, first: string) => `:${first === 'A' ? 'B' : 'A'}`);
    await writeFile(path, changed);
    await run();
    await writeFile(path, right);
    const service = await serviceIn(directory);
    const found = await clientOf(service.baseUrl, tenant.key)(`/api/v1/cards/${sent}`);
    await service.stop();
    expect(found.body['recipient']).to.include({ name: 'Ada Lovelace' });
  };

  it('stops the start before anything is written, if events are written with it', () =>
    withWrong('event.key', async () => {
      const end = await refusalOf(directory);
      expect(end?.code).to.equal(78);
      expect(end?.message).to.match(/EVENT_KEY_FILE.*Restore that file/s);
    }));

  it('stops the start if it opens keys of personal data, and gives up none of them', () =>
    withWrong('personal.key', async () => {
      const end = await refusalOf(directory);
      expect(end?.code).to.equal(78);
      expect(end?.message).to.match(/PERSONAL_KEY_FILE.*Restore that file/s);
      const given: unknown = await giveUpKeysOf(readSettings({ DATA_DIR: directory }), 'Ada').catch(
        (error: unknown) => error,
      );
      expect(explain(given))
        .to.deep.include({ code: 78 })
        .and.property('message')
        .includes('nothing is given up');
    }));
});

describe('a copy that is not whole', () => {
  it('is not started, and gets no files that its next try would meet', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    markDirectory(directory, { why: 'its restore is unfinished', state: 'unfinished' });
    const end = await refusalOf(directory);
    expect(end?.code).to.equal(78);
    expect(end?.message).to.include('its restore is unfinished. Run that command again');
    expect(await readdir(directory)).to.deep.equal(['rehearsal.json']);
    await rm(directory, { recursive: true, force: true });
  });
});
