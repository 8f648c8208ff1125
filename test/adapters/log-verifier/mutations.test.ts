import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { verifyExport } from '../../../adapters/log-verifier/verify.mjs';
import type { ExportDeps, ExportSubject } from '../../../application/log/export.js';
import { withoutMac } from '../../../application/log/hash-chain.js';
import { Draw, fileOf, mutate, resigned, type LeafOf } from '../../support/fixtures/mutations.js';
import {
  exported,
  happened,
  keyOf,
  notarized,
  otherOrg,
  storedEvents,
  vkey,
  type Notarized,
} from '../../support/fixtures/notarized.js';
import { org } from '../../support/fixtures/world.js';

const mutationsOfEach = 500;

interface Shown {
  readonly index: number;
  readonly stream: string;
  readonly revision: number;
  readonly org: string | null;
  readonly org_seq: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly personal: string | null;
  readonly key?: string | null;
  readonly metadata: string;
  readonly proof?: readonly string[];
  readonly previous?: string;
  readonly before?: object;
}

/** What a line says besides its event: the way it is proven. */
const aside: ReadonlySet<string> = new Set(['proof', 'previous', 'before']);

/** What really stands in the log. */
class Truth {
  readonly #events: readonly Omit<Shown, 'proof' | 'previous' | 'before' | 'key'>[];

  constructor({ raw, tiles }: Notarized) {
    this.#events = raw.events.map(({ stream, revision, id, type, data, personal, ...event }, index) => {
      const metadata = withoutMac(event.metadata);
      const { org: of } = JSON.parse(metadata) as { readonly org: string | null };
      const sequence = tiles.leafList[index]?.orgSeq ?? -1;
      return { index, stream, revision, org: of, org_seq: sequence, id, type, data, personal, metadata };
    });
  }

  get size(): number {
    return this.#events.length;
  }

  /** The events that a file should show. */
  wanted(kind: unknown, subject: unknown, from: number) {
    return this.#events.filter(
      (event) =>
        (kind === 'period' && subject === 'all' && event.index >= from) ||
        (kind === 'card' && event.stream === subject) ||
        (event.org === subject && (kind === 'organization' || (kind === 'period' && event.index >= from))),
    );
  }

  /** Whether a line says of its event what is true; what it withholds is not false. */
  isTrue(shown: Shown): boolean {
    const { personal, key, ...others } = shown;
    const told = Object.fromEntries(Object.entries(others).filter(([name]) => !aside.has(name)));
    const { personal: recorded, ...event } = this.#events[shown.index] ?? { personal: null };
    const { keyId } = JSON.parse(shown.metadata) as { readonly keyId: string | null };
    const isKey =
      key === undefined || key === null || (keyId !== null && key === keyOf(keyId).toString('base64'));
    const isPersonal = personal === null ? (key ?? null) === null : personal === recorded;
    return JSON.stringify(told) === JSON.stringify(event) && isKey && isPersonal;
  }
}

const fieldsOf = (line: string): Readonly<Record<string, unknown>> => JSON.parse(line);

/** What is wrong with a file that was verified; null if it is true, and tells what it leaves out. */
const deceit = (file: Buffer, report: readonly string[], truth: Truth): string | null => {
  const lines = file.toString().trimEnd().split('\n');
  if (lines.some((line) => JSON.stringify(JSON.parse(line)) !== line))
    return 'a line can be read in two ways';
  const [head = '', ...others] = lines;
  const { kind, subject, tree_size: size, from = 0, artwork } = fieldsOf(head);
  if (size !== truth.size) return 'the log has another size';
  const inside = others.slice(0, -1).filter((line) => !('leaf' in fieldsOf(line)));
  const events = inside.filter((line) => !('front' in fieldsOf(line)));
  const shown = events.map((line): Shown => JSON.parse(line));
  const wrong = shown.find((event) => !truth.isTrue(event));
  if (wrong !== undefined) return `${wrong.stream}@${wrong.revision} is not what was recorded`;
  const wanted = truth.wanted(kind, subject, Number(from)).map(({ index }) => index);
  const found = shown.map(({ index }) => index);
  if (JSON.stringify(found) !== JSON.stringify(wanted.slice(0, found.length))) return 'events are left out';
  const isTold = report.some(
    (line) => line.startsWith('SAID  no event of') || line.startsWith('SAID  the period'),
  );
  if (found.length < wanted.length && !isTold) return 'the end is left out, and nothing says so';
  const withheld = shown.filter(({ personal, key }) => personal === null && key === null).length;
  const line = report.find((each) => each.includes('personal data')) ?? '';
  if (shown.length > 0 && !line.includes(`, ${withheld} withheld`)) return 'what is withheld is not told';
  const hidden = shown.filter(({ personal, key }) => personal !== null && key === null).length;
  const [, erased, unreadable] = /, (\d+) erased, (\d+) unreadable$/.exec(line) ?? [];
  if (shown.length > 0 && hidden !== Number(erased) + Number(unreadable))
    return 'what can not be read is not told';
  const shows = inside.filter((line) => !events.includes(line)).map(fieldsOf);
  return artwork === true || shows.length > 0 ? frontsDeceit(shown, shows, report) : null;
};

const frontsDeceit = (
  events: readonly Shown[],
  shows: readonly Readonly<Record<string, unknown>>[],
  report: readonly string[],
): string | null => {
  const named = events.flatMap(({ data }) => /"(?:front|digest)":"(\w{64})"/.exec(data)?.[1] ?? []);
  if (JSON.stringify(shows.map(({ front }) => front)) !== JSON.stringify([...new Set(named)]))
    return 'the fronts are not those of the events';
  const bytes = shows.filter((line) => line['bytes'] !== null);
  const digestOf = (base64: unknown): string =>
    typeof base64 === 'string'
      ? createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex')
      : 'no bytes';
  const wrong = bytes.some((line) => digestOf(line['bytes']) !== line['front']);
  if (wrong) return 'a front has other bytes';
  const gone = shows.length - bytes.length;
  const isTold = report.some((line) => line.endsWith(`: ${bytes.length} shown, ${gone} erased or lost`));
  const isSaid = report.some((line) => line.startsWith('SAID  fronts without bytes'));
  return isTold && isSaid === gone > 0 ? null : 'what is missing of fronts is not told';
};

describe('a mutated export', () => {
  let deps: ExportDeps & Notarized;
  let truth: Truth;
  let code: string;
  before(async () => {
    const { world, codes } = await happened([
      'save a design', 'send', 'another organization buys', 'cancel', 'erase', 'save a design', 'send',
      'another organization buys', 'hold', 'buy', 'save a design',
    ]); // prettier-ignore
    deps = await notarized(world, await storedEvents(world));
    truth = new Truth(deps);
    code = codes[0] ?? '';
  });

  const subjects: Readonly<Record<string, () => ExportSubject>> = {
    'a card': () => ({ kind: 'card', code: code as Extract<ExportSubject, { kind: 'card' }>['code'] }),
    'an organization': () => ({ kind: 'organization', org }),
    'a period of one organization': () => ({ kind: 'period', org, from: 6n, to: null }),
    'a period of another organization, from its first event on': () => ({
      kind: 'period',
      org: otherOrg,
      from: 1n,
      to: null,
    }),
    'a period of everybody': () => ({ kind: 'period', org: null, from: 5n, to: null }),
  };

  /** The leaf of an event, as a line of its own. */
  const leafOf: LeafOf = (line) => {
    const { index } = fieldsOf(line);
    const leaf = deps.tiles.leafList[Number(index)];
    return leaf === undefined ? null : JSON.stringify({ leaf: leaf.hash.toString('base64') });
  };

  for (const [number, [name, subjectOf]] of Object.entries(subjects).entries())
    it(`is refused, or says what rests on the operator's word, also signed again by the log: ${name}`, async function () {
      this.timeout(60_000);
      const told = { personal: number % 2 === 0, artwork: number !== 4, since: number === 1 ? 3 : null };
      const lines = (await exported(deps, subjectOf(), told)).toString().trimEnd().split('\n');
      expect(verifyExport(fileOf(lines), { keys: [vkey] }).report.at(-1)).to.equal('VERIFIED');
      expect(verifyExport(fileOf(resigned(lines)), { keys: [vkey] }).report.at(-1)).to.equal('VERIFIED');
      const others: string[] = [];
      for (const subject of Object.values(subjects))
        others.push(
          ...(await exported(deps, subject(), { personal: true, artwork: true }))
            .toString()
            .trimEnd()
            .split('\n'),
        );
      const deceits: string[] = [];
      let tried = 0;
      for (let seed = 1; tried < mutationsOfEach; seed++) {
        const changed = mutate(lines, new Draw(number * 1_000_000 + seed), others, leafOf);
        if (fileOf(changed).equals(fileOf(lines))) continue;
        tried++;
        const file = fileOf(resigned(changed));
        const { report, verified } = verifyExport(file, { keys: [vkey] });
        const wrong = verified ? deceit(file, report, truth) : null;
        if (wrong !== null) deceits.push(`${seed}: ${wrong}`);
        // Without a new signature most are refused for the same reason; a sample is enough.
        if (tried % 10 === 0 && verifyExport(fileOf(changed), { keys: [vkey] }).verified)
          deceits.push(`${seed}: the signature is for something else`);
      }
      expect(deceits).to.deep.equal([]);
    });
});
