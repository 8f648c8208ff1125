import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { verifyExport } from '../../../adapters/log-verifier/verify.mjs';
import { exportLog, type ExportSubject } from '../../../application/log/export.js';
import { frontierAt } from '../../../application/log/log-proofs.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import { DomainError } from '../../../domain/errors.js';
import { auditIdOf } from '../../../domain/audit.js';
import { streamName } from '../../../domain/ids.js';
import { rootOf } from '../../../domain/merkle.js';
import {
  checkpointText,
  parseNote,
  signerFrom,
  signNote,
  vkeyOf,
  withSignatures,
} from '../../../domain/signed-note.js';
import { cosignature } from '../../support/fixtures/cosignature.js';
import {
  actions,
  exported,
  happened,
  keyOf,
  notarized,
  otherOrg,
  reordered,
  signer,
  storedEvents,
  vkey,
  type Action,
} from '../../support/fixtures/notarized.js';
import { fileOf, resigned } from '../../support/fixtures/mutations.js';
import { buy, org } from '../../support/fixtures/world.js';
import { sampleOf } from '../../support/runner/effort.js';

const verify = (file: Buffer, more: Partial<Parameters<typeof verifyExport>[1]> = {}) =>
  verifyExport(file, { keys: [vkey], ...more });
const failures = (file: Buffer, more: Partial<Parameters<typeof verifyExport>[1]> = {}): string[] =>
  verify(file, more).report.filter((line) => line.startsWith('FAIL'));

const busy: readonly Action[] = [
  'send', 'send', 'cancel', 'another organization buys', 'time passes', 'send', 'hold', 'release', 'buy', 'send', 'produce',
  'another organization buys', 'send', 'hold',
]; // prettier-ignore

const subjectsOf = async (acts: readonly Action[]) => {
  const { world, codes } = await happened(acts);
  const stored = await storedEvents(world);
  const deps = await notarized(world, stored);
  const size = stored.length;
  const wanted: ExportSubject[] = [
    ...codes.slice(0, 2).map((code) => ({ kind: 'card' as const, code })),
    { kind: 'organization', org },
    { kind: 'organization', org: otherOrg },
    { kind: 'period', org: null, from: null, to: null },
    { kind: 'period', org: null, from: BigInt(Math.floor(size / 3)), to: null },
    { kind: 'period', org, from: BigInt(Math.floor(size / 2)), to: null },
    { kind: 'period', org: otherOrg, from: 3n, to: null },
  ];
  return { deps, world, codes, wanted, size };
};

/** The lines of a file, each with its line feed. */
const linesOf = (file: Buffer): string[] => file.toString().match(/.*\n/g) ?? [];

describe('an export', () => {
  it('is verified, whatever has happened, for a card, an organization and a period', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...actions), { maxLength: 30 }), async (acts) => {
        const { deps, wanted } = await subjectsOf(acts);
        for (const subject of wanted)
          for (const isMore of [true, false])
            expect(
              failures(await exported(deps, subject, { personal: isMore, artwork: isMore })),
            ).to.deep.equal([]);
      }),
      { numRuns: 6, seed: 11 },
    );
  });

  it('is verified over more than one tile of leaves', async () => {
    const acts = Array.from({ length: 150 }, (_, at): Action =>
      at % 50 === 20 ? 'buy' : 'another organization buys',
    );
    const { deps, wanted, size } = await subjectsOf(['send', ...acts, 'send', ...acts, 'cancel', ...acts]);
    expect(size).to.be.greaterThan(450);
    const more: ExportSubject = { kind: 'period', org, from: 256n, to: null };
    for (const subject of [...wanted, more])
      expect(failures(await exported(deps, subject, { since: 256 }))).to.deep.equal([]);
  });

  it('says what is in it, line by line', async () => {
    const { deps } = await subjectsOf(busy);
    const file = await exported(deps, { kind: 'organization', org }, { personal: true });
    const { report, verified } = verify(file);
    expect(verified).to.equal(true);
    expect(report.at(-1)).to.equal('VERIFIED');
    expect(report.join('\n')).to.match(
      /PASS {2}the checkpoint is signed by the log: \d+ events, root \S{8}…/,
    );
    expect(report).to.include(
      'PASS  personal data is what was recorded: 7 shown, 0 withheld, 0 erased, 0 unreadable',
    );
    expect(report.join('\n')).to.match(
      /PASS {2}no number of the organization's events is missing, from event 0 to event \d+\n/,
    );
    expect(report).to.include(
      'PASS  credits add up, every card is paid for once, what was owed came back: 55 purchased - 6 spent + 4 returned = 53',
    );
  });

  it('names the front of a card, and holds its bytes if they are asked for', async () => {
    const { deps, codes } = await subjectsOf(['save a design', 'send', 'save a design', 'send']);
    const [printed, later] = codes.map((code) => ({ kind: 'card' as const, code }));
    if (printed === undefined || later === undefined) throw new Error('no card was sent');
    const [, event = ''] = linesOf(await exported(deps, printed));
    const { front: digest } = JSON.parse(JSON.parse(event).data).order.design;
    expect(digest).to.equal(createHash('sha256').update('front 1').digest('hex'));
    const file = await exported(deps, printed, { artwork: true });
    expect(JSON.parse(linesOf(file).at(-2) ?? '')).to.deep.equal({
      front: digest,
      bytes: Buffer.from('front 1').toString('base64'),
    });
    const name = 'PASS  every front that an event names has the bytes that it was recorded with';
    expect(verify(file).report).to.include(`${name}: 1 shown, 0 erased or lost`);
    const erased = await exported(deps, later, { artwork: true });
    expect(verify(erased).report.filter((line) => /front|VER/.test(line))).to.deep.equal([
      `${name}: 0 shown, 1 erased or lost`,
      "SAID  fronts without bytes were erased or lost: the operator's statement alone says so",
      'VERIFIED',
    ]);
  });

  it('is not made of a front that has other bytes than it was saved with', async () => {
    const { deps, codes } = await subjectsOf(['save a design', 'send']);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const artwork = { get: () => Promise.resolve(Buffer.from('another')) };
    const made = exported({ ...deps, artwork }, { kind: 'card', code }, { artwork: true });
    expect(await made.catch(String)).to.match(/Front [0-9a-f]{64} has other bytes than it was saved with/);
  });

  it('is refused where a front is missing, altered, added or out of its place, also signed again by the log', async () => {
    const { deps } = await subjectsOf(['save a design', 'send', 'save a design', 'save a design', 'send']);
    const file = await exported(deps, { kind: 'organization', org }, { artwork: true });
    const lines = file.toString().trimEnd().split('\n');
    const [one = '', two = '', three = ''] = lines.slice(-4);
    const [of, between] = [lines.slice(0, -4), lines.slice(-1)];
    const digests = [one, two, three].map((line): string => JSON.parse(line).front);
    const other = JSON.stringify({ front: digests[0], bytes: Buffer.from('another').toString('base64') });
    const unnamed = JSON.stringify({ front: '0'.repeat(64), bytes: null });
    const loose = one.replace('=', '');
    const told = (...fronts: readonly string[]) => fileOf(resigned([...of, ...fronts, ...between]));
    const check = 'FAIL  every front that an event names has the bytes that it was recorded with';
    const next = 'is not the next front that the events name';
    expect(failures(told(one, two, three))).to.deep.equal([]);
    for (const [fronts, why] of [
      [[one, two], `${check}: front ${digests[2]} is missing`],
      [[other, two, three], `${check}: front ${digests[0]} has other bytes`],
      [[loose, two, three], `${check}: front ${digests[0]} has other bytes`],
      [[one, two, three, unnamed], `${check}: ${'0'.repeat(64)} ${next}`],
      [[one, one, two, three], `${check}: ${digests[0]} ${next}`],
      [[two, one, three], `${check}: ${digests[1]} ${next}`],
    ] as const)
      expect(failures(told(...fronts)), why).to.deep.equal([why]);
    const last = of.at(-1) ?? '';
    const moved = [...of.slice(0, -1), one, last, two, three, ...between];
    expect(failures(fileOf(resigned(moved))).at(-1)).to.equal(
      'FAIL  the file is an export: an event stands after a front',
    );
    const silent = (of[0] ?? '').replace(',"artwork":true', '');
    expect(failures(fileOf(resigned([silent, ...lines.slice(1)]))).join()).to.include('has other fields');
  });

  it('holds the texts that are stored, and shows personal data only to whoever asks', async () => {
    const { deps, codes } = await subjectsOf(busy);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const shown = (await exported(deps, { kind: 'card', code }, { personal: true })).toString();
    const withheld = (await exported(deps, { kind: 'card', code })).toString();
    const texts = deps.raw.events.filter(({ stream }) => stream === `card-${code}`);
    expect(
      linesOf(Buffer.from(shown))
        .slice(1, -1)
        .map((line) => JSON.parse(line).personal),
    ).to.deep.equal(texts.map(({ personal }) => personal));
    expect(
      linesOf(Buffer.from(withheld))
        .slice(1, -1)
        .map((line) => JSON.parse(line).personal),
    ).to.deep.equal(texts.map(() => null));
    expect(texts[0]?.personal).to.be.a('string');
    const [head, event, end] = linesOf(Buffer.from(withheld)).map((line): unknown => JSON.parse(line));
    expect(head).to.deep.equal({
      format: 'handwritten-card-service/export/v1',
      kind: 'card',
      subject: `card-${code}`,
      origin: 'cards.example.com/log',
      tree_size: (await deps.tiles.tree()).size,
    });
    expect(event).to.have.all.keys(
      'index', 'stream', 'revision', 'org', 'org_seq', 'id', 'type', 'data', 'personal', 'key', 'metadata',
      'proof',
    ); // prettier-ignore
    expect(end).to.have.all.keys('checkpoint', 'statement', 'consistency');
  });

  it("says what rests on the operator's word alone, and nothing where nothing can follow", async () => {
    const { deps, codes } = await subjectsOf(['send', 'another organization buys', 'send', 'cancel']);
    const [code, newest] = codes;
    if (code === undefined || newest === undefined) throw new Error('no card was sent');
    const said = async (subject: ExportSubject): Promise<readonly string[]> =>
      verify(await exported(deps, subject)).report.filter((line) => line.startsWith('SAID'));
    const alone = ": the operator's statement alone says so";
    const single = (of: string) => `SAID  no other event of ${of} has one of these numbers${alone}`;
    const { size } = await deps.tiles.tree();
    for (const [subject, lines] of [
      [
        { kind: 'card', code },
        [single(`card-${code}`), `SAID  no event of card-${code} follows revision 0${alone}`],
      ],
      [
        { kind: 'organization', org: otherOrg },
        [single(otherOrg), `SAID  no event of ${otherOrg} follows event 1${alone}`],
      ],
      [{ kind: 'organization', org }, [single(org)]],
      [{ kind: 'period', org, from: 4n, to: null }, [single(org)]],
      [
        { kind: 'period', org: otherOrg, from: 1n, to: null },
        [single(otherOrg), `SAID  no event of ${otherOrg} follows event 1${alone}`],
      ],
      [
        { kind: 'period', org: otherOrg, from: BigInt(size - 2), to: null },
        [`SAID  the period has no event of ${otherOrg}${alone}`],
      ],
      [{ kind: 'period', org: null, from: 4n, to: null }, []],
    ] as const)
      expect(await said(subject), JSON.stringify({ ...subject, from: null })).to.deep.equal(lines);
    const empty = await exported(deps, { kind: 'period', org: otherOrg, from: BigInt(size - 2), to: null });
    expect(verify(empty).report.join('\n')).to.include('VERIFIED').and.not.to.include('events is missing');
  });

  it('shows of a period of one organization that nothing is left out at its beginning', async () => {
    const { deps, size } = await subjectsOf(busy);
    for (let from = 1; from < size; from++) {
      const file = await exported(deps, { kind: 'period', org: otherOrg, from: BigInt(from), to: null });
      expect(failures(file), `from ${from}`).to.deep.equal([]);
      const lines = linesOf(file);
      const first = lines.findIndex((line) => line.includes('"stream"'));
      if (first < 0) continue;
      const { before, org_seq: sequence } = JSON.parse(lines[first] ?? '');
      expect([from, before?.org_seq ?? -1, (before?.index ?? -1) < from]).to.deep.equal([
        from,
        sequence - 1,
        true,
      ]);
    }
  });

  it('says what its streams go on from where they are too many to be remembered, and stores tell no positions', async () => {
    const { deps, size } = await subjectsOf([...busy, 'hold', 'another organization buys', 'release']);
    const raw: RawLog = {
      readStored: (after, limit) => deps.raw.readStored(after, limit),
      readStoredStream: async (...asked) =>
        (await deps.raw.readStoredStream(...asked)).map((event) => ({ ...event, position: null })),
    };
    for (const rememberedStreams of [1, 3])
      for (const known of [deps, { ...deps, raw }])
        for (let from = 1; from < size; from += 3) {
          const period: ExportSubject = { kind: 'period', org: null, from: BigInt(from), to: null };
          const file = await exported({ ...known, rememberedStreams }, period);
          expect(failures(file), `from ${from}`).to.deep.equal([]);
        }
  });

  it('tells personal data that is shown from what is withheld, erased or can not be read', async () => {
    const { deps } = await subjectsOf(['send', 'cancel', 'erase', 'send', 'hold', 'send']);
    const told = async (keyOf: (id: string) => Buffer | null, personal: boolean): Promise<string> => {
      const asked = { ...deps, keys: { load: () => Promise.resolve(), keyOf } };
      const { report } = verify(await exported(asked, { kind: 'organization', org }, { personal }));
      return report.filter((line) => /personal data|keys/.test(line)).join('\n');
    };
    const line = (state: string, sums: string) => `${state}  personal data is what was recorded: ${sums}`;
    const said = (lost: number) =>
      `\nSAID  the keys of ${lost} are lost, and no erasure in this file says why: the operator's statement alone says so`;
    // The key of the one that was erased is still there.
    expect(await told(keyOf, true)).to.equal(line('PASS', '3 shown, 0 withheld, 1 erased, 0 unreadable'));
    expect(await told(keyOf, false)).to.equal(line('PASS', '0 shown, 4 withheld, 0 erased, 0 unreadable'));
    expect(await told(() => null, true)).to.equal(
      `${line('PASS', '0 shown, 0 withheld, 1 erased, 3 unreadable')}${said(3)}`,
    );
    expect(await told(() => Buffer.alloc(32, 1), true)).to.match(/^FAIL.*was sealed with another key$/);
  });

  /**
   * Where a byte of a file can be changed, and the file is verified all the same. Bits are changed in turn.
   */
  const unnoticed = (
    file: Buffer,
    every: number,
    more: Partial<Parameters<typeof verifyExport>[1]> = {},
    usually = Infinity,
  ): number[] => {
    expect(failures(file, more)).to.deep.equal([]);
    const last = file.lastIndexOf(10, -2) + 1;
    const places = sampleOf(
      Array.from(file.keys()).filter((at) => at >= last || at % every === 0),
      usually,
    );
    return places.filter((at, n) => {
      const changed = Buffer.from(file);
      changed[at] = changed.readUInt8(at) ^ ([1, 0x20, 0x80, 3][n % 4] ?? 1);
      return verify(changed, more).verified;
    });
  };

  it('is not verified with any byte of it changed', async function () {
    // Some two thousand files are checked in a thorough run.
    this.timeout(120_000);
    const { deps, codes } = await subjectsOf(['send']);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    expect(unnoticed(await exported(deps, { kind: 'card', code }), 1, {}, 300)).to.deep.equal([]);
  });

  /** A log with sealed personal data, whose checkpoint a witness has signed too. */
  const witnessed = async () => {
    const { deps, wanted } = await subjectsOf(['send', 'another organization buys', 'cancel']);
    const newest = await deps.tiles.newest();
    if (newest === null) throw new Error('nothing was signed');
    const witness = signerFrom('witness.example/1', 'cosignature', Buffer.alloc(32, 1));
    const by = cosignature(witness, parseNote(newest.note).text, 1_772_000_000);
    deps.tiles.checkpoints = [{ ...newest, note: withSignatures(newest.note, [by]) }];
    return { deps, wanted, witness: vkeyOf(witness), size: newest.size };
  };

  it('is not verified with a byte of it changed, of every kind: sealed, with a witness and an older tree', async function () {
    // Some three thousand files are checked in a thorough run.
    this.timeout(240_000);
    const { deps, wanted, witness, size } = await witnessed();
    const [card, organization, , , period, ownPeriod] = wanted;
    for (const [since, subject] of [
      [3, card],
      [4, organization],
      [size - 1, period],
      [size, ownPeriod],
    ] as const) {
      if (subject === undefined) throw new Error('nothing to export');
      const file = await exported(deps, subject, { personal: true, since });
      expect(
        unnoticed(file, 61, { witnesses: [witness] }, 120),
        `${subject.kind} since ${since}`,
      ).to.deep.equal([]);
    }
  });

  it('shows a byte changed in it anywhere but in signatures that nobody asked for', async function () {
    this.timeout(120_000);
    const { deps, codes } = await subjectsOf(['send']);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const newest = await deps.tiles.newest();
    if (newest === null) throw new Error('nothing was signed');
    const fresh = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 6));
    deps.tiles.checkpoints = [{ ...newest, note: signNote(parseNote(newest.note).text, [fresh, signer]) }];
    const file = await exported({ ...deps, signers: [fresh, signer] }, { kind: 'card', code });
    const line = /— cards\.example\.com\/log ([\w+/=]+)\\n— /g;
    const free = [
      ...file.toString('latin1').matchAll(new RegExp(line.source.replaceAll('—', '\xe2\x80\x94'), 'g')),
    ];
    expect(free.length).to.equal(2);
    const passed = unnoticed(file, 29);
    expect(passed.length).to.be.greaterThan(100);
    expect(
      passed.filter((at) => !free.some(({ index, 0: all }) => at > index + 3 && at < index + all.length - 6)),
    ).to.deep.equal([]);
  });

  it('is not verified with a signature line that is no such line, whoever has signed', async () => {
    const { deps } = await subjectsOf(['send']);
    const newest = await deps.tiles.newest();
    if (newest === null) throw new Error('nothing was signed');
    const withLine = async (line: string): Promise<boolean> => {
      deps.tiles.checkpoints = [{ ...newest, note: `${newest.note}${line}` }];
      return verify(await exported(deps, { kind: 'organization', org })).verified;
    };
    expect(await withLine('— another.example AQIDBAU=\n')).to.equal(true);
    for (const line of [
      '— another.example AQIDBA==\n',
      '— another.example AQIDBAV=\n',
      '— another+example AQIDBAU=\n',
      '— another.example\n',
      '- another.example AQIDBAU=\n',
      '— another.example AQIDBAU=',
      '— another.example AQIDBAU=\n'.repeat(100),
    ])
      expect(await withLine(line), line).to.equal(false);
  });

  it('is verified only with the proof of the older tree that it names, and with a list of hashes as proof', async () => {
    const { deps, size } = await subjectsOf(['send']);
    const resigned = (file: Buffer, change: (last: string) => string): Buffer => {
      const lines = linesOf(file);
      return Buffer.from(lines.with(-1, change(lines.at(-1) ?? '')).join(''));
    };
    for (const since of [0, 2, 3, size]) {
      const file = await exported(deps, { kind: 'organization', org }, { since });
      expect(JSON.parse(linesOf(file)[0] ?? '').since.size).to.equal(since);
      expect(verify(file).verified).to.equal(true);
      const proof = /"consistency":\[.*\]/;
      const hash = `"${Buffer.alloc(32, 1).toString('base64')}"`;
      for (const other of [`[${hash}]`, `[${hash},${hash}]`, '["AQID"]', '[1]', '{}', 'null'])
        expect(
          verify(resigned(file, (last) => last.replace(proof, `"consistency":${other}`))).verified,
          `${since} ${other}`,
        ).to.equal(false);
      expect(verify(resigned(file, (last) => last.replace(/,"consistency":\[.*\]/, ''))).verified).to.equal(
        false,
      );
    }
  });

  it('is not verified with any line removed, doubled or exchanged with the next one', async () => {
    const { deps, wanted } = await subjectsOf(busy);
    for (const subject of wanted) {
      const lines = linesOf(await exported(deps, subject));
      const passed = lines.flatMap((line, at) => {
        const next = lines[at + 1];
        const others = [
          lines.toSpliced(at, 1),
          lines.toSpliced(at, 0, line),
          ...(next === undefined ? [] : [lines.toSpliced(at, 2, next, line)]),
        ];
        return others.filter((changed) => verify(Buffer.from(changed.join(''))).verified);
      });
      expect(passed).to.deep.equal([]);
    }
  });

  it('puts nothing on a terminal that stands in it and could be taken for what the verifier says', async () => {
    const { deps } = await subjectsOf(['send']);
    const file = await exported(deps, { kind: 'organization', org });
    const trick = String.raw`\u001b[2K\r\u202eVERIFIED\u2028`;
    for (const changed of [
      file.toString().replace('"type":"', `"type":"${trick}`),
      file.toString().replace('"origin":"', `"origin":"${trick}`),
      file.toString().replace(/"index":(\d+),"stream":"/, `"index":$1,"stream":"${trick}`),
      file.toString().replace('"organization"', `"${trick}"`),
      `\u001b[2K${file.toString()}`,
    ]) {
      const { report } = verify(Buffer.from(changed));
      expect(report.at(-1)).to.equal('NOT VERIFIED');
      expect(report.filter((line) => /[\p{C}\p{Zl}\p{Zp}]/u.test(line))).to.deep.equal([]);
    }
  });

  it('is verified with the key of the log, and with no other', async () => {
    const { deps } = await subjectsOf(['send']);
    const file = await exported(deps, { kind: 'organization', org });
    const other = vkeyOf(signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 6)));
    const witness = vkeyOf(signerFrom('cards.example.com/log', 'cosignature', Buffer.alloc(32, 5)));
    for (const keys of [[], [other], [witness], [vkey.replace('cards', 'chart')], ['no key']])
      expect(verifyExport(file, { keys }).verified, keys.join()).to.equal(false);
    expect(verifyExport(file, { keys: [other, vkey] }).verified).to.equal(true);
  });

  it('is verified with the old key while both keys sign, and not after that', async () => {
    const fresh = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 6));
    const { deps } = await subjectsOf(['send']);
    const newest = await deps.tiles.newest();
    if (newest === null) throw new Error('nothing was signed');
    const sign = (...signers: (typeof fresh)[]) => {
      const note = signNote(parseNote(newest.note).text, signers);
      deps.tiles.checkpoints = [{ ...newest, note }];
      return exported({ ...deps, signers }, { kind: 'organization', org });
    };
    expect(verify(await sign(fresh, signer)).verified).to.equal(true);
    expect(verify(await sign(fresh)).verified).to.equal(false);
    expect(verifyExport(await sign(fresh), { keys: [vkeyOf(fresh)] }).verified).to.equal(true);
  });

  it('is verified under the name that the log has since its key was lost, of whatever time', async () => {
    const { world } = await happened(['send', 'buy']);
    const deps = await notarized(world, await storedEvents(world));
    const at = world.clock.now();
    await world.clock.advance(7_200_000);
    await buy(world, 1);
    deps.raw.events = await storedEvents(world);
    await deps.notarize();
    const renamed = signerFrom('cards.example.com/log2', 'note', Buffer.alloc(32, 6));
    await deps.notarize(renamed);
    const keys = [vkeyOf(renamed), vkey];
    const after = { ...deps, signers: [renamed] };
    const all = await exported(after, { kind: 'organization', org });
    const period = await exported(after, { kind: 'period', org: null, from: null, to: at + 1 });
    for (const file of [all, period]) expect(failures(file, { keys })).to.deep.equal([]);
  });

  it('is verified with as many witnesses as were asked for, and not with fewer or others', async () => {
    const { deps } = await subjectsOf(['send']);
    const newest = await deps.tiles.newest();
    if (newest === null) throw new Error('nothing was signed');
    const witnesses = [1, 2, 3].map((n) =>
      signerFrom(`witness.example/${n}`, 'cosignature', Buffer.alloc(32, n)),
    );
    const [one, two, three] = witnesses.map(vkeyOf);
    if (one === undefined || two === undefined || three === undefined) throw new Error('no witnesses');
    const { text } = parseNote(newest.note);
    const by = witnesses.slice(0, 2).map((witness) => cosignature(witness, text, 1_772_000_000));
    deps.tiles.checkpoints = [{ ...newest, note: withSignatures(newest.note, by) }];
    const file = await exported(deps, { kind: 'organization', org });
    const asked = (given: string[], quorum?: number) => verify(file, { witnesses: given, quorum }).verified;
    expect([asked([one, two]), asked([one, three], 1), asked([one, two, three], 2)]).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect([asked([one, two, three]), asked([one, three]), asked([three], 1), asked([one, one], 2)]).to.deep.equal([
      false, false, false, false,
    ]); // prettier-ignore
  });

  it('proves that an older checkpoint is a prefix, and shows where it is none', async () => {
    const { deps, size } = await subjectsOf(busy);
    const older = async (leaves: number, changed = false): Promise<string> => {
      const { roots } = await frontierAt(deps.tiles, leaves);
      const root = changed ? Buffer.alloc(32, 9) : rootOf({ size: leaves, roots });
      return signNote(checkpointText({ origin: signer.name, size: leaves, root }), [signer]);
    };
    for (const leaves of [0, 1, 2, 7, 16, size - 1, size]) {
      const file = await exported(deps, { kind: 'period', org: null, from: 5n, to: null }, { since: leaves });
      expect(failures(file, { anchor: await older(leaves) }), `${leaves}`).to.deep.equal([]);
      expect(verify(file, { anchor: await older(leaves, true) }).verified, `${leaves}`).to.equal(false);
      if (leaves > 1 && leaves < size)
        expect(verify(file, { anchor: await older(leaves - 1) }).verified, `${leaves}`).to.equal(false);
    }
    const later = signNote(checkpointText({ origin: signer.name, size: size + 1, root: Buffer.alloc(32) }), [
      signer,
    ]);
    expect(verify(await exported(deps, { kind: 'organization', org }), { anchor: later }).verified).to.equal(
      false,
    );
  });

  it('notices credits that were never returned, although everything is signed', async () => {
    const { world } = await happened(['send', 'cancel', 'time passes', 'buy']);
    const stored = await storedEvents(world);
    const honest = await notarized(world, stored);
    expect(verify(await exported(honest, { kind: 'organization', org })).verified).to.equal(true);
    const without = stored.filter(({ type }) => type !== 'CreditReturned');
    const deps = await notarized(world, reordered(without));
    expect(
      failures(await exported(deps, { kind: 'organization', org })).map((line) => line.slice(0, 24)),
    ).to.deep.equal(['FAIL  credits add up, ev']);
  });

  it('notices a card that nobody paid for in a period, too, unless it was paid for shortly before', async () => {
    const { world } = await happened(['buy', 'send', 'buy', 'time passes', 'send', 'time passes', 'buy']);
    const stored = await storedEvents(world);
    const payment = stored.findLastIndex(({ type }) => type === 'CreditSpent');
    const unpaid = await notarized(world, reordered(stored.toSpliced(payment, 1)));
    const honest = await notarized(world, stored);
    for (let from = 1; from <= payment + 1; from += 1) {
      const period: ExportSubject = { kind: 'period', org: null, from: BigInt(from), to: null };
      expect(failures(await exported(honest, period)), `from ${from}`).to.deep.equal([]);
      const shortlyBefore = Date.parse(JSON.parse(stored[payment]?.metadata ?? '').occurredAt) - 300_000;
      const first = Date.parse(JSON.parse(stored[from]?.metadata ?? '').occurredAt);
      expect(failures(await exported(unpaid, period)).length, `from ${from}`).to.equal(
        first < shortlyBefore ? 1 : 0,
      );
    }
  });

  it('ends a period at a checkpoint that was kept, at or after the time that was asked for', async () => {
    const { world } = await happened([]);
    const deps = await notarized(world, await storedEvents(world));
    const first = (await deps.tiles.tree()).size;
    const at = world.clock.now();
    await world.clock.advance(7_200_000);
    await buy(world, 1);
    const grown = await storedEvents(world);
    deps.raw.events = grown;
    await deps.notarize();
    const file = await exported(deps, { kind: 'period', org: null, from: null, to: at + 1 });
    expect(JSON.parse(linesOf(file)[0] ?? '')).to.include({ from: 0, tree_size: first });
    expect(verify(file).verified).to.equal(true);
    const rest = await exported(deps, { kind: 'period', org: null, from: BigInt(first), to: null });
    expect(JSON.parse(linesOf(rest)[0] ?? '')).to.include({ from: first, tree_size: grown.length });
    expect(verify(rest).verified).to.equal(true);
  });

  it('is recorded, with its digest, in the stream of whose events it holds', async () => {
    const { deps, world, codes } = await subjectsOf(['send']);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const file = await exported(deps, { kind: 'card', code }, { personal: true, artwork: true });
    await exported(deps, { kind: 'period', org: null, from: null, to: null });
    const [own] = await world.store.readStream(streamName('audit', org), 0);
    const last = linesOf(file).at(-1) ?? '';
    expect(own?.data).to.deep.equal({
      kind: 'card',
      subject: `card-${code}`,
      withPersonal: true,
      withArtwork: true,
      sum: createHash('sha256')
        .update(file.subarray(0, -Buffer.byteLength(last)))
        .digest('hex'),
    });
    expect(own?.metadata.org).to.equal(org);
    const [house] = await world.store.readStream(streamName('audit', auditIdOf(null)), 0);
    expect(house?.data).to.include({
      kind: 'period',
      subject: 'all',
      withPersonal: false,
      withArtwork: false,
    });
    expect(house?.metadata.org).to.equal(null);
  });

  for (const pieces of [0, 1])
    it(`is recorded without a digest if it is broken off after ${pieces} pieces, and never has its last line then`, async () => {
      const { deps, world } = await subjectsOf(busy);
      const lines = await exportLog(
        deps,
        { actor: { kind: 'operator', id: null }, requestId: null },
        { kind: 'period', org: null, from: null, to: null },
        { personal: false, artwork: false, since: null },
        new AbortController().signal,
      );
      const given = lines[Symbol.asyncIterator]();
      for (let count = 0; count < pieces; count += 1)
        expect((await given.next()).value)
          .to.be.a('string')
          .that.does.not.include('"checkpoint"');
      await given.return?.();
      const [broken] = await world.store.readStream(streamName('audit', auditIdOf(null)), 0);
      expect(broken?.data).to.include({ kind: 'period', subject: 'all', sum: null });
    });

  it('is refused once the log is known to be damaged, and stops where it is found to be', async () => {
    const { deps, codes } = await subjectsOf(busy);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const codeOf = (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => null,
        (error: unknown) => (error instanceof DomainError ? error.code : error),
      );
    const changed = deps.raw.events.map((event) =>
      event.stream === `card-${code}` ? { ...event, data: event.data.replace('Everyday', 'Every') } : event,
    );
    const honest = deps.raw.events;
    deps.raw.events = changed;
    expect(await codeOf(exported(deps, { kind: 'card', code }))).to.equal('log_damaged');
    expect(await codeOf(exported(deps, { kind: 'organization', org }))).to.equal('log_damaged');
    deps.raw.events = honest;
    await deps.tiles.reportDamage({ position: 3n, reason: 'changed' });
    expect(await codeOf(exported(deps, { kind: 'card', code }))).to.equal('log_damaged');
  });
});
