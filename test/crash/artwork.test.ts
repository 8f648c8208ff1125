import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileArtwork } from '../../adapters/artwork/files.js';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoArtwork } from '../../adapters/mongodb/records/artwork.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { pictureSizes, type Artwork } from '../../application/ports/artwork.js';
import type { Clock } from '../../application/ports/system.js';
import { ArtworkDigest } from '../../domain/artwork.js';
import { leftoversInFiles, leftoversInMongo } from '../support/artwork/leftovers.js';
import { plainPicture, uploadPicture } from '../support/artwork/upload.js';
import { settableClock } from '../support/http/http.js';
import { clientOf, type Client } from '../support/http/service.js';
import { serviceIn } from '../support/http/service-in.js';
import { pathOf, Visitor } from '../support/http/visitor.js';
import { rounds } from '../support/runner/effort.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { freePort } from '../support/servers/ports.js';
import { eventually } from '../support/time/eventually.js';
import { operate, spawnService, type ServiceProcess } from './service-process.js';

interface Place {
  readonly environment: Readonly<Record<string, string>>;
  readonly artwork: Artwork;
  readonly leftovers: () => Promise<number>;
  readonly clear: () => Promise<void>;
}

const inFiles = async (directory: string): Promise<Place> => {
  const artwork = join(directory, 'artwork');
  return {
    environment: {},
    artwork: fileArtwork(artwork, new SystemClock()),
    leftovers: () => leftoversInFiles(artwork),
    clear: () => Promise.resolve(),
  };
};

const onServers = async (directory: string): Promise<Place> => {
  const { environment, namespace, clear } = await distributedWiring(directory);
  const clock = new SystemClock();
  const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
  return {
    environment: { ...environment, EVENTSTORE_PREFIX: namespace },
    artwork: mongoArtwork(database, clock),
    leftovers: () => leftoversInMongo(database),
    clear: async () => {
      await database.close();
      await clear();
    },
  };
};

const hour = 3_600_000;
const kills = rounds({ usually: 2, thoroughly: 3 });
/** Pictures that are uploaded or saved at a kill; each has two fronts. */
const atOnce = 2;

/** By it, what is done again after minutes is done again after a second: a sweep waits for read models. */
const hourLater = (): Clock => {
  const clock = settableClock(new Date(Date.now() + hour).toISOString());
  return { ...clock, sleep: (time, signal) => clock.sleep(Math.min(time, 1_000), signal) };
};

const digestsIn = (text: string, pattern: RegExp): readonly ArtworkDigest[] =>
  [...text.matchAll(pattern)].map(([, digest]) => ArtworkDigest.parse(digest));

/** `keeper`: another process, which is not killed, keeps the read models. */
const survives = (open: (directory: string) => Promise<Place>, keeper: boolean): void => {
  let directory: string;
  let place: Place;
  let service: ServiceProcess;
  let others: readonly ServiceProcess[] = [];
  let visitor: Visitor;
  let org: string;
  let api: Client;

  const start = async (role: 'api' | 'all', port: number): Promise<ServiceProcess> => {
    const environment = { ...place.environment, CLAIM_TIMEOUT: '1ms' };
    const started = spawnService(directory, port, [], { role, environment });
    await started.ready;
    await eventually(async () => (await fetch(`${started.url}/readyz`)).ok, { what: 'readiness' });
    return started;
  };
  const role = keeper ? 'api' : 'all';

  before(async function () {
    this.timeout(120_000);
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    place = await open(directory);
    if (keeper) others = [await start('all', await freePort())];
    service = await start(role, await freePort());
    org = String((await operate(service, directory, '/organizations', { name: 'Acme' }))['id']);
    const { key } = await operate(service, directory, `/organizations/${org}/keys`, {
      scopes: ['cards:read'],
    });
    api = clientOf(service.url, String(key));
    const { url } = await operate(service, directory, '/console-links', {});
    visitor = new Visitor({ baseUrl: service.url });
    await visitor.submit(pathOf(url), 'enter');
  });
  after(async () => {
    for (const each of [service, ...others]) await each.end('SIGKILL');
    await place.clear();
    await rm(directory, { recursive: true, force: true });
  });

  const stored = async (): Promise<readonly ArtworkDigest[]> => {
    const digests: ArtworkDigest[] = [];
    for await (const { digest } of place.artwork.list()) digests.push(digest);
    return digests.toSorted();
  };
  /** Of the organization's designs, or of the cards of the collection. */
  const shown = async (path: string): Promise<readonly ArtworkDigest[]> => {
    const { rows } = await api(`${path}?limit=200`);
    return digestsIn(rows.map((row) => String(row['preview_url'])).join(' '), /pictures\/(\w+)/g);
  };
  const killAndStart = async (): Promise<void> => {
    await service.end('SIGKILL');
    service = await start(role, Number(new URL(service.url).port));
  };

  let pictures = 0;
  const aPicture = () => plainPicture(pictures++);

  /** Kills it when uploads have some bytes: between those of two fronts, or before any of them is named. */
  const killUploads = async (): Promise<void> => {
    const before = (await stored()).length;
    const files = await Promise.all(Array.from({ length: atOnce }, aPicture));
    const uploads = files.map((file) => uploadPicture(visitor, org, 'Broken', file).catch(() => null));
    await eventually(async () => (await stored()).length > before + (pictures % 3), { what: 'bytes' });
    await killAndStart();
    await Promise.all(uploads);
  };

  /** Kills it when one of several saves is answered, and sends all of them again; gives their fronts. */
  const killSaves = async (): Promise<readonly ArtworkDigest[]> => {
    const saves = [];
    for (let at = 0; at < atOnce; at++) {
      const page = await uploadPicture(visitor, org, 'Saved', await aPicture());
      const { text } = await visitor.get(page);
      const forms = digestsIn(text, /pictures\/(\w+)\/front/g).entries();
      for (const [at, digest] of forms)
        saves.push({
          digest,
          page,
          form: { ...(await visitor.form(page, 'save')), fit: ['fill', 'fit'][at] ?? '' },
        });
    }
    const saved = new Set<ArtworkDigest>();
    const sent = saves.map(({ page, form, digest }) =>
      visitor.post(page, form).then(
        ({ status }) => status === 303 && saved.add(digest),
        () => null,
      ),
    );
    await eventually(() => saved.size > 0, { what: 'an answer' });
    await killAndStart();
    await Promise.all(sent);
    expect(await shown('/api/v1/designs')).to.include.members([...saved]);
    for (const { page, form } of saves) expect((await visitor.post(page, form)).status).to.equal(303);
    return saves.map(({ digest }) => digest);
  };

  it(`keeps what was saved, whole and once, and nothing else for an hour, killed ${kills} times`, async function () {
    this.timeout(60_000 + 60_000 * kills);
    const saved: ArtworkDigest[] = [];
    for (let round = 0; round < kills; round++)
      if (round % 2 === 0) await killUploads();
      else saved.push(...(await killSaves()));
    await uploadPicture(visitor, org, 'Never saved', await aPicture());

    expect((await shown('/api/v1/designs')).toSorted()).to.deep.equal(saved.toSorted());
    const named = saved.concat(await shown('/api/v1/collection')).toSorted();
    expect(await stored()).to.include.members(named);
    for (const digest of await stored()) {
      const [master, ...others] = await Promise.all(
        pictureSizes.map(async (size) => (await place.artwork.get(digest, size)) ?? Buffer.of()),
      );
      expect(
        createHash('sha256')
          .update(master ?? '')
          .digest('hex'),
      ).to.equal(digest);
      expect(others.every(({ length }) => length > 0)).to.equal(true);
    }
    const token = (await readFile(join(directory, 'operator.token'), 'utf8')).trim();
    const [key = ''] = (await (await fetch(`${service.url}/log/key`)).text()).split('\n');
    const file = await fetch(`${service.url}/operator/v1/exports?organization=${org}&artwork=include`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { report } = verifyExport(Buffer.from(await file.arrayBuffer()), { keys: [key] });
    expect(report.find((line) => line.includes('front'))).to.include(`: ${saved.length} shown, 0 erased`);
    expect(report.at(-1)).to.equal('VERIFIED');

    const [design] = (await api('/api/v1/designs')).rows;
    await visitor.submit(`/console/${org}/designs`, 'erase', { design: String(design?.['id']) });
    const [erased] = digestsIn(String(design?.['preview_url']), /pictures\/(\w+)/g);
    const used = named.filter((digest) => digest !== erased);
    expect(used.length).to.equal(named.length - 1);
    expect((await stored()).length).to.be.greaterThan(used.length);
    for (const each of [...others, service]) expect(await each.end('SIGTERM')).to.equal(0);
    const next = await serviceIn(directory, place.environment, hourLater());
    const isSwept = async () => (await stored()).length === used.length && (await place.leftovers()) === 0;
    await eventually(isSwept, { what: 'removal of the others' });
    expect(await stored()).to.deep.equal(used);
    await next.stop();
  });
};

describe('pictures in files, of a process that is killed', () => survives(inFiles, false));

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'pictures on servers, of a process that is killed', () =>
  survives(onServers, true),
);
