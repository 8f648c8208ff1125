// @ts-check
// Checks an export of the Handwritten Card Service; needs Node.js 20.19 or later, this file, and no network:
//   node verify.mjs FILE --key VKEY [--key OLDER …] [--witness VKEY …] [--quorum N] [--anchor CHECKPOINT]
// Take the keys from your contract, never from the file. The service's docs/exports.md has the formats.
import { createDecipheriv, createHash, createPublicKey, verify as isSignedBy } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
/** @typedef {{ name: string, id: string, cosigns: boolean, key: import('node:crypto').KeyObject }} Key @typedef {Record<string, any>} Line */
/** @typedef {{ keys: string[], witnesses?: string[], quorum?: number | undefined, anchor?: string | undefined, onLine?: (end: number) => void }} Options */
const openFor = 300_000; // milliseconds that credits may be on their way: the service mends a crash in a minute
const [inLog, credits] = ['every event stands in the log', 'credits add up, every card is paid for once, what was owed came back'];
/** @type {(holds: unknown, otherwise: string) => asserts holds} */ const must = (holds, otherwise) => { if (!holds) throw new Error(otherwise); };
const sha256 = (/** @type {(string | Uint8Array)[]} */ ...parts) => parts.reduce((sum, part) => sum.update(part), createHash('sha256')).digest();
const nodeOf = (/** @type {Buffer} */ left, /** @type {Buffer} */ right) => sha256('\x01', left, right);
/** Only the one way to write bytes in base64 counts. @type {(text: any, length?: number) => Buffer} */
const bytesOf = (text, length) => {
  const bytes = Buffer.from(String(text), 'base64');
  must(bytes.toString('base64') === text && bytes.length === (length ?? bytes.length), `${text} is malformed`);
  return bytes;
};
const hashesOf = (/** @type {unknown[]} */ list) => list.map((text) => bytesOf(text, 32));
const keyOf = (/** @type {string} */ vkey) => {
  const [, name = '', id = '', base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? [];
  const raw = bytesOf(base64, 33);
  must([1, 4].includes(raw.readUInt8()) && sha256(`${name}\n`, raw).toString('hex', 0, 4) === id, `${vkey} is no key`);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.subarray(1).toString('base64url') };
  return { name, id, cosigns: raw[0] === 4, key: createPublicKey({ key: jwk, format: 'jwk' }) };
};
/** The text of a log's note, and how many witnesses have signed it. @type {(note: string, keys: Key[], log: string) => [string, number]} */
const opened = (note, keys, log) => {
  const [, text = '', lines = ''] = /^([^]+\n)\n((?:— [^\s+\x85]+ \S{6}[^\s=]\S*\n){1,100})$/.exec(note) ?? [];
  const by = [...lines.matchAll(/^— (\S+) (\S+)$/gm)].flatMap(([, name, base64]) => {
    const bytes = bytesOf(base64);
    const key = keys.find((other) => other.name === name && other.id === bytes.toString('hex', 0, 4));
    const signed = key?.cosigns ? `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n${text}` : text;
    must(!key || isSignedBy(null, Buffer.from(signed), key.key, bytes.subarray(key.cosigns ? 12 : 4)), `the signature of ${name} is wrong`);
    return key ?? [];
  });
  must(by.some(({ name, cosigns }) => name === log && !cosigns), `none of the keys of ${log} has signed it`);
  return [text, new Set(by.filter(({ cosigns }) => cosigns)).size];
};
const treeOf = (/** @type {string} */ text, /** @type {string} */ log) => {
  const [, origin, size, root] = /^(.+)\n(0|[1-9]\d{0,15})\n(\S+)\n$/.exec(text) ?? [];
  must(origin === log, `it is no checkpoint of ${log}`);
  return { size: Number(size), root: bytesOf(root, 32) };
};
/** For each step from a leaf up to the root: does the neighbour stand on the left? @type {(at: number, size: number) => boolean[]} */
const stepsOf = (at, size) => {
  const half = 2 ** ((size - 1).toString(2).length - 1);
  return size < 2 ? [] : at < half ? [...stepsOf(at, half), false] : [...stepsOf(at - half, size - half), true];
};
/** @type {(node: Buffer, steps: boolean[], neighbours: Buffer[]) => Buffer} */ const climb = (node, steps, neighbours) => {
  must(steps.length === neighbours.length, 'a proof has another length');
  return neighbours.reduce((below, other, step) => (steps[step] ? nodeOf(other, below) : nodeOf(below, other)), node);
};
/** The roots of both trees, if a proof of consistency is right. @type {(older: { size: number, root: Buffer }, to: number, proof: Buffer[]) => Buffer[]} */
const rootsOf = ({ size, root }, to, proof) => {
  const height = size.toString(2).length - 1 - size.toString(2).lastIndexOf('1');
  const steps = stepsOf(size - 1, to).slice(height);
  const [first, others] = size === 2 ** height ? [root, proof] : [proof[0] ?? root, proof.slice(1)];
  return [climb(first, steps.filter(Boolean), others.filter((_, step) => steps[step])), climb(first, steps, others)];
};
/** What became of an event's personal data. @type {(event: Line, stamp: Line | null) => 'shown' | 'withheld' | 'erased' | 'none'} */
const stateOf = ({ id, personal, key = null }, stamp) => {
  if (personal === null && key === null) return stamp ? 'withheld' : 'none';
  const digest = sha256(String(personal)).toString('hex');
  must(digest === stamp?.digest, `${id} was recorded with other personal data`);
  if (key === null) return 'erased';
  const [{ iv, sealed, commit }, secret] = [JSON.parse(personal), bytesOf(key, 32)];
  must(sha256('handwritten-card-service/personal-key/v1\n', secret).toString('base64') === commit, `${id} was sealed with another key`);
  const box = createDecipheriv('aes-256-gcm', secret, bytesOf(iv, 12)).setAAD(Buffer.from(id));
  const text = box.setAuthTag(bytesOf(sealed).subarray(-16)).update(bytesOf(sealed).subarray(0, -16));
  return JSON.parse(Buffer.concat([text, box.final()]).toString()) === undefined ? 'none' : 'shown';
};
/** @type {(file: Buffer, options: Options) => { report: string[], verified: boolean }} */
export const verifyExport = (file, { keys, witnesses = [], quorum = witnesses.length, anchor, onLine = () => {} }) => {
  const [checks, streams, sequences, roots] = [new Map(), new Map(), new Map(), /** @type {Buffer[]} */ ([])];
  const [balances, causes, open, states] = [new Map(), new Set(), new Map(), { shown: 0, withheld: 0, erased: 0, none: 0 }];
  const sums = { before: 0, CreditsPurchased: 0, CreditReturned: 0, CreditSpent: 0, CreditsWithdrawn: 0 };
  let [head, events, size, hash, newest, implied] = [/** @type {Line} */ ({}), 0, 0, '', 0, /** @type {Buffer | null} */ (null)];
  const check = (/** @type {string} */ name, /** @type {() => any} */ work) => {
    const found = checks.get(name) ?? checks.set(name, { detail: '', failure: null }).get(name);
    try { found.detail = String(work() ?? ''); } catch (error) { found.failure ??= error instanceof Error ? error.message : 'malformed'; }
  };
  const place = (/** @type {Buffer} */ leaf, /** @type {Line} */ { index, proof }) => {
    const isPeriod = head['kind'] === 'period';
    must(isPeriod ? index === size : index >= size && index < head['tree_size'], `${index} stands where ${size} is expected`);
    const root = isPeriod ? leaf : climb(leaf, stepsOf(index, head['tree_size']), hashesOf(proof));
    must(isPeriod || root.equals((implied ??= root)), `the proof of ${index} leads to another root`);
    let node = leaf;
    for (let rest = isPeriod ? index : 0; rest % 2 === 1; rest = (rest - 1) / 2) node = nodeOf(roots.pop() ?? leaf, node);
    [size] = [index + 1, roots.push(node)];
  };
  /** Of each pair, one half takes what the other adds. @type {(key: string, amount: number, at: number) => void} */
  const pair = (key, amount, at) => {
    const { sum, since } = open.get(key) ?? { sum: 0, since: at };
    if (!open.delete(key) || sum + amount !== 0) open.set(key, { sum: sum + amount, since });
  };
  const enter = (/** @type {Line} */ { stream, revision, type, data }, /** @type {Line} */ { causationId, occurredAt }) => {
    const { cause, amount, balance, owes } = JSON.parse(data);
    const [at, name, kind, slot] = [Date.parse(occurredAt), `${stream}@${revision}`, /** @type {keyof typeof sums} */ (type), cause?.void ?? cause];
    if (type === 'CardScheduled' || type === 'CardReleased') pair(`${name} ${causationId}`, -1, at);
    if (owes > 0) pair(`${name} owes`, owes, at);
    if (type === 'PurchaseOrdered') pair(stream, amount, at);
    if (!stream.startsWith('credits-')) return;
    const change = kind === 'CreditsPurchased' || kind === 'CreditReturned' ? amount : -amount;
    const before = balances.get(stream) ?? (revision === 0 ? 0 : balance - change);
    must(kind in sums && amount > 0 && balance >= 0 && before + change === balance, `${name} leaves another balance`);
    must(causes.size < causes.add(`${stream} ${type} ${JSON.stringify(cause)}`).size, `${name} repeats a cause`);
    [sums.before, sums[kind]] = [sums.before + (balances.has(stream) ? 0 : before), sums[kind] + amount];
    balances.set(stream, balance);
    if (slot.command) pair(`card-${slot.card}@${slot.revision} ${slot.command}`, -change, at);
    if (cause.owed) pair(`card-${cause.owed.card}@${cause.owed.revision} owes`, -amount, at);
    if (kind === 'CreditsPurchased') pair(`purchase-${cause}`, -amount, at);
  };
  const total = () => {
    // What a period brings to its end may have begun before it, and a purchase without a reference has no order.
    const left = [...open].filter(([key, { sum }]) => sum > 0 || (!(head['from'] > 0) && !key.startsWith('purchase')));
    for (const [key, { since }] of left) must(newest - since <= openFor, `${key} stands alone`);
    const { before, CreditsPurchased: bought, CreditsWithdrawn: withdrawn, CreditSpent: spent, CreditReturned: back } = sums;
    const [sum, way] = [before + bought - withdrawn - spent + back, left.length === 0 ? '' : `, ${left.length} on the way`];
    return `: ${before} before + ${bought} purchased - ${withdrawn} withdrawn - ${spent} spent + ${back} returned = ${sum}${way}`.replace(/(?<=^: )0 before \+ | - 0 withdrawn/g, '');
  };
  const take = (/** @type {Line} */ event) => {
    const { stream, revision, type, id, data, org, org_seq: sequence, leaf, previous } = event;
    const [{ kind, subject, from = 0 }, isMixed] = [head, head['kind'] === 'period' && head['subject'] === 'all'];
    if (leaf) return check(inLog, () => place(bytesOf(leaf, isMixed ? 0 : 32), { index: kind === 'period' ? size : null }));
    const metadata = JSON.parse(event['metadata']);
    check('every event gives its hash, and follows the one before it in its stream', () => {
      const [, covered, own] = /^([^]*),"hash":"([0-9a-f]{64})"}$/.exec(event['metadata']) ?? [];
      const before = streams.get(stream) ?? (from > 0 && revision > 0 ? null : { revision: -1, hash: '' });
      must(before ? previous === undefined && revision === before.revision + 1 : typeof previous === 'string', `${stream}@${revision} does not follow the event before it`);
      const covers = [before?.hash ?? previous, stream, revision, type, id, data, `${covered}}`];
      hash = sha256(covers.join('\n')).toString('hex');
      must(metadata.chain === 2 && own === hash, `${stream}@${revision} has another hash`);
      streams.set(stream, { revision, hash });
    });
    check('personal data is what was recorded', () => (states[stateOf(event, metadata.personal)] += 1) &&
      `: ${states.shown} shown, ${states.withheld} withheld, ${states.erased} erased`);
    check(`no event of the ${kind} is missing`, () => {
      must(isMixed || (kind === 'card' ? stream : org) === subject, `${stream}@${revision} is not of ${subject}`);
      const before = sequences.get(org) ?? (from > 0 ? sequence - 1 : -1);
      must(kind === 'card' || sequence === before + 1, `event ${before + 1} of ${org} is missing`);
      sequences.set(org, sequence);
    });
    if (kind !== 'card') check(credits, () => enter(event, metadata));
    check(inLog, () => {
      must(metadata.org === org && !`${stream}${org}`.includes('\n'), `${stream}@${revision} is of another organization`);
      place(sha256(`\0handwritten-card-service/event/v1\n${stream}\n${revision}\n${metadata.hash}\n${org ?? ''}\n${sequence}\n`), event);
    });
    [events, newest] = [events + 1, Math.max(newest, Date.parse(metadata.occurredAt))];
  };
  check('the file is an export', () => {
    const [begin, last] = [file.indexOf(10) + 1, file.lastIndexOf(10, -2) + 1];
    head = JSON.parse(file.toString('utf8', 0, begin));
    const { format, kind, subject, origin, tree_size: wanted, from = 0, frontier = [], since } = head;
    must(format === 'handwritten-card-service/export/v1' && /^(card|organization|period)$/.test(kind), 'it is of no known kind');
    must((kind === 'period' || from === 0) && frontier.length === from.toString(2).replaceAll('0', '').length, 'its frontier is wrong');
    size = roots.push(...hashesOf(frontier)) && from;
    for (let at = begin; at < last; onLine((at = file.indexOf(10, at) + 1))) take(JSON.parse(file.toString('utf8', at, file.indexOf(10, at))));
    const { checkpoint, statement, consistency } = JSON.parse(file.toString('utf8', last));
    must(file.subarray(last).equals(Buffer.from(`${JSON.stringify({ checkpoint, statement, consistency })}\n`)), 'its last line is malformed');
    const [known, tree, proof] = [[...keys, ...witnesses].map(keyOf), { size: -1, root: Buffer.of() }, hashesOf(consistency)];
    check('the checkpoint is signed by the log', () => Object.assign(tree, treeOf(opened(checkpoint, known, origin)[0], origin)) &&
      `: ${tree.size} events, root ${tree.root.toString('base64', 0, 6)}…`);
    check('enough witnesses have signed it', () => must(opened(checkpoint, known, origin)[1] >= quorum, `fewer than ${quorum} have`));
    const mustBegin = (/** @type {{ size: number, root: Buffer }} */ older, isAll = older.size % tree.size === 0) => {
      const [old, now] = isAll ? [older.size === 0 ? sha256() : tree.root, proof[0] ? null : tree.root] : rootsOf(older, tree.size, proof);
      must(older.size <= tree.size && old?.equals(older.root) && now?.equals(tree.root), 'the proof leads to another root');
    };
    if (since) check('the older tree that it names is a prefix of this log', () => mustBegin({ ...since, root: bytesOf(since.root, 32) }));
    if (anchor !== undefined) check('the older checkpoint is a prefix of this log', () => mustBegin(treeOf(opened(anchor, known, origin)[0], origin)));
    check('the service has signed what this export holds', () => {
      const text = `${kind} ${subject}\ntree ${wanted} ${tree.root.toString('base64')}\nevents ${events}\nlast ${hash}\nbody `;
      const stated = `handwritten-card-service/statement/v1\n${text}${sha256(file.subarray(0, last)).toString('hex')}\n`;
      must(opened(statement, known, origin)[0] === stated, 'it has signed something else');
    });
    check(inLog, () => {
      const root = kind === 'period' && size === wanted ? roots.reduceRight((right, left) => nodeOf(left, right)) : implied;
      must(tree.size === wanted && root?.equals(tree.root), 'the proofs lead to another root');
    });
    if (kind !== 'card') check(credits, total);
  });
  const report = [...checks].map(([name, { detail, failure }]) => (failure === null ? `PASS  ${name}${detail}` : `FAIL  ${name}: ${failure}`));
  const verified = report.every((line) => line.startsWith('PASS'));
  return { report: [...report, verified ? 'VERIFIED' : 'NOT VERIFIED'], verified };
};
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  /** @type {Record<string, string[]>} */ const given = { '': [], '--key': [], '--witness': [], '--quorum': [], '--anchor': [] };
  try {
    for (const args = process.argv.slice(2); args.length > 0;)
      must(given[args[0]?.startsWith('--') ? (args.shift() ?? '') : '']?.push(args.shift() ?? ''), 'There is no such option.');
    const { '': files = [], '--key': keys = [], '--witness': witnesses = [], '--quorum': [least] = [], '--anchor': [path] = [] } = given;
    must(files.length === 1 && Object.values(given).flat().every(Boolean), 'Name one file, and a value after each option.');
    const [quorum, anchor] = [least === undefined ? least : Number(least), path === undefined ? path : readFileSync(path, 'utf8')];
    const { report, verified } = verifyExport(readFileSync(files[0] ?? ''), { keys, witnesses, quorum, anchor });
    process.stdout.write(`${report.join('\n')}\n`);
    process.exitCode = verified ? 0 : 1;
  } catch (error) { process.exitCode = 1; process.stdout.write(`${String(error)}\nNOT VERIFIED\n`); }
}
