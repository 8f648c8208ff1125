// Checks an export of the Handwritten Card Service, with Node.js 20.19 or later, this file, and no network:
//
//   node verify.mjs FILE --key VKEY [--key OLDER …] [--witness VKEY …] [--quorum N] [--anchor CHECKPOINT]
//
// Take the keys from your contract, never from the file. The service's docs/exports.md has the formats; the
// comments here say what is checked. Each check prints a line:
//
//   PASS  it holds, no matter who made the file
//   FAIL  it does not hold, and why
//   SAID  the operator has signed that it holds, and nothing else shows it
import { createDecipheriv, createHash, createPublicKey, verify as isSignedBy } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { parseArgs } from 'node:util';

const must = (holds, otherwise) => {
  if (!holds) throw new Error(otherwise);
};

/** @typedef {{ keys: string[], witnesses?: string[], quorum?: number | undefined }} Trusted */
/** @typedef {Trusted & { anchor?: string | undefined, onLine?: (end: number) => void }} Options */
/** @type {(file: Buffer, options: Options) => { report: string[], verified: boolean }} */
export const verifyExport = (file, options) => {
  const lines = [];
  const said = [];
  const check = (name, work) => {
    try {
      lines.push(`PASS  ${name}${work() ?? ''}`);
    } catch (error) {
      lines.push(`FAIL  ${name}: ${error instanceof Error ? error.message : 'it is malformed'}`);
    }
  };
  check('the file is an export', () => checkFile(file, options, check, said));
  const verified = lines.every((line) => line.startsWith('PASS'));
  for (const what of said) lines.push(`SAID  ${what}: the operator's statement alone says so`);
  lines.push(verified ? 'VERIFIED' : 'NOT VERIFIED');
  // What stands in the file must not be taken for what is said here.
  return { report: lines.map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')), verified };
};

// A file has a first line, which says what it is about; then events, and in a period of one organization the
// leaves of others' events; then fronts; and a last line with what is signed.

const checkFile = (file, options, check, said) => {
  const { keys, witnesses = [], quorum = witnesses.length, anchor, onLine } = options;
  const [first, last] = [lineAt(file, 0), lineAt(file, file.lastIndexOf(10, -2) + 1)];
  must(last.at > 0 && last.end === file.length, 'it has no first and last line');
  const head = checkFields(first.fields, firstLine(first.fields), 'the first line');
  const { checkpoint, statement, consistency } = checkFields(last.fields, lastLine, 'the last line');
  const { kind, subject, origin, since, artwork } = head;

  const known = [...keys.map((vkey) => keyOf(vkey, false)), ...witnesses.map((vkey) => keyOf(vkey, true))];
  const open = (note) => openCheckpoint(note, known, origin);
  let tree = null;
  check('the checkpoint is signed by the log', () => {
    const signed = open(checkpoint);
    must(signed.size === head.tree_size, 'the first line names another tree');
    tree = signed;
    return `: ${tree.size} events, root ${tree.root.slice(0, 8)}…`;
  });
  if (tree === null) return;
  check('enough witnesses have signed it', () => must(tree.witnesses >= quorum, `fewer than ${quorum} have`));
  must(since || consistency.length === 0, 'it has a proof for an older tree that it does not name');
  if (since)
    check('the older tree that it names is a prefix of this log', () => mustBegin(since, tree, consistency));
  if (anchor !== undefined)
    check('the older checkpoint is a prefix of this log', () => mustBegin(open(anchor), tree, consistency));

  const isWhole = kind === 'period' && subject === 'all';
  const leaves = [];
  const fronts = [];
  for (let line = lineAt(file, first.end); line.at < last.at; line = lineAt(file, line.end)) {
    const { fields, end } = line;
    const isFront = artwork && 'front' in fields;
    const isLeaf = kind === 'period' && !isWhole && 'leaf' in fields;
    must(isFront || fronts.length === 0, 'an event stands after a front');
    if (isFront) fronts.push(frontIn(fields));
    else leaves.push(isLeaf ? checkFields(fields, leafLine, 'the line of a leaf') : eventIn(fields, kind));
    onLine?.(end);
  }
  const events = leaves.filter(({ leaf }) => leaf === undefined);
  const found = { head, tree, isWhole, leaves, events, fronts, said };
  check('every event gives its hash, and follows the one before it in its stream', () => checkChains(found));
  check('every event stands in the log', () => checkPlaces(found));
  const whose = kind === 'card' ? "card's" : "organization's";
  const lacking = isWhole ? 'event of the period' : `number of the ${whose} events`;
  if (isWhole || events.length > 0) check(`no ${lacking} is missing`, () => checkNumbers(found));
  else if (tree.size > head.from) said.push(`the period has no event of ${subject}`);
  check('personal data is what was recorded', () => checkPersonal(found));
  const isRecorded = 'every front that an event names has the bytes that it was recorded with';
  if (artwork) check(isRecorded, () => checkFronts(found));
  if (kind !== 'card')
    check('credits add up, every card is paid for once, what was owed came back', () => checkCredits(found));

  check('the service has signed what this export holds', () => {
    const about = `${kind} ${subject}\ntree ${tree.size} ${tree.root}\nevents ${events.length}\n`;
    const holds = `last ${events.at(-1)?.hash ?? ''}\nbody ${hexOf(file.subarray(0, last.at))}\n`;
    const wanted = `handwritten-card-service/statement/v1\n${about}${holds}`;
    must(openNote(statement, known, origin).text === wanted, 'it has signed something else');
  });
};

// Lines. There is one way to write each of them, so that nothing can be read in two ways.

const lineAt = (file, at) => {
  const end = file.indexOf(10, at);
  must(end >= 0, 'its last line does not end');
  const text = file.toString('utf8', at, end);
  must(Buffer.from(text).equals(file.subarray(at, end)), 'it is not written in UTF-8');
  return { fields: parsed(text), at, end: end + 1 };
};

/** JSON exactly as JSON.stringify writes it: no field twice, no space, no number in another notation. */
const parsed = (text) => {
  const value = JSON.parse(text);
  must(JSON.stringify(value) === text, 'JSON is not written the one way that counts');
  return value;
};

/** Exactly these fields, in this order, each with a value of its kind. */
const checkFields = (value, shape, what) => {
  const names = Object.keys(shape);
  const hasThem = JSON.stringify(Object.keys(value ?? {})) === JSON.stringify(names);
  must(hasThem, `${what} has other fields than ${names.join(', ')}`);
  for (const name of names) must(shape[name](value[name]), `${what} has a malformed ${name}`);
  return value;
};

// Half of a surrogate pair is no text: it would be hashed like any other half.
const isText = (value) => typeof value === 'string' && !/\p{Surrogate}/u.test(value);
const isName = (value) => isText(value) && value !== '' && !/\p{Cc}/u.test(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isHex = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isHash = (value) => isText(value) && /^[\w+/]{43}=$/.test(value);
const isHashes = (value) => Array.isArray(value) && value.every(isHash);
const orNull = (isIt) => (value) => value === null || isIt(value);

const olderTree = { size: isCount, root: isHash };
const firstLine = ({ kind, since, artwork }) => ({
  format: (value) => value === 'handwritten-card-service/export/v1',
  kind: (value) => ['card', 'organization', 'period'].includes(value),
  subject: (value) => isName(value) && (kind !== 'card' || value.startsWith('card-')),
  origin: isName,
  tree_size: isCount,
  ...(kind === 'period' && { from: isCount, frontier: isHashes }),
  ...(since !== undefined && { since: () => checkFields(since, olderTree, 'since') }),
  ...(artwork !== undefined && { artwork: () => artwork === true }),
});
const place = { index: isCount, stream: isName, revision: isCount, org: orNull(isName), org_seq: isCount };
const earlierEvent = { ...place, hash: isHex, proof: isHashes };
const eventLine = (kind, { key, previous, before }) => ({
  ...place,
  id: isName,
  type: isName,
  data: isText,
  personal: orNull(isText),
  ...(key !== undefined && { key: orNull(isText) }),
  metadata: isText,
  ...(kind !== 'period' && { proof: isHashes }),
  ...(previous !== undefined && { previous: isHex }),
  ...(before !== undefined && { before: () => checkFields(before, earlierEvent, 'before') }),
});
const leafLine = { leaf: isHash };
const frontLine = { front: isHex, bytes: orNull(isText) };
const lastLine = { checkpoint: isText, statement: isText, consistency: isHashes };

// Texts and hashes.

const fromBase64 = (text, length) => {
  const bytes = Buffer.from(text, 'base64');
  must(bytes.toString('base64') === text, `${text} is not written in base64`);
  must(length === undefined || bytes.length === length, `${text} has another length`);
  return bytes;
};
const hashesIn = (list) => list.map((text) => fromBase64(text, 32));

const sha256 = (...parts) => {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return sum.digest();
};
const hexOf = (text) => sha256(text).toString('hex');

// Events. Hash, leaf and proof together cover all that a line says of its event.

/** The line of an event, with what its texts hold, and of its metadata the part that its hash covers. */
const eventIn = (fields, kind) => {
  const line = checkFields(fields, eventLine(kind, fields), 'the line of an event');
  const name = `${line.stream}@${line.revision}`;
  const number = kind === 'card' ? `revision ${line.revision}` : `event ${line.org_seq}`;
  const facts = parsed(line.data);
  const all = parsed(line.metadata);
  const { hash, ...covered } = all;
  must(Object.keys(all).at(-1) === 'hash', `the metadata of ${name} does not end with a hash`);
  const { chain, org, occurredAt, personal: stamp, causationId } = covered;
  must(chain === 2, `${name} has version ${chain} of the chain, and version 2 alone is known`);
  must(org === line.org, `${name} is of another organization`);
  const at = Date.parse(occurredAt);
  must(!Number.isNaN(at), `${name} has no time`);
  return { ...line, metadata: JSON.stringify(covered), name, number, hash, facts, stamp, at, causationId };
};

/** Each event gives its hash, which covers the hash of the event before it in its stream. */
const checkChains = ({ events, head: { from = 0 } }) => {
  const streams = new Map();
  for (const { name, stream, revision, type, id, data, metadata, hash, previous } of events) {
    const before = streams.get(stream) ?? { revision: -1, hash: '' };
    // The beginning of a stream may lie before a period: then the first of its events says what it follows.
    const isCut = from > 0 && revision > 0 && !streams.has(stream);
    must(isCut === (previous !== undefined), `${name} ${isCut ? 'lacks' : 'must not have'} previous`);
    must(isCut || revision === before.revision + 1, `${name} does not follow the event before it`);
    const texts = [previous ?? before.hash, stream, revision, type, id, data, metadata];
    must(hexOf(texts.join('\n')) === hash, `${name} has another hash`);
    streams.set(stream, { revision, hash });
  }
};

/** Each event stands in the tree: by a proof of its own, or because the leaves of a period give the root. */
const checkPlaces = ({ head: { kind, from, frontier }, leaves, tree }) => {
  if (kind !== 'period') {
    must(leaves.length > 0, 'it shows no event');
    for (const [at, event] of leaves.entries()) {
      must(at === 0 || event.index > leaves[at - 1].index, `${event.name} stands in the wrong place`);
      mustStand(event, tree);
    }
    return;
  }
  // A tree that grows leaf by leaf: the roots of its complete subtrees, the largest first.
  const roots = hashesIn(frontier);
  const subtrees = from.toString(2).replaceAll('0', '').length;
  must(roots.length === subtrees, `a tree of ${from} leaves has ${subtrees} complete subtrees`);
  let size = from;
  for (const event of leaves) {
    const { name, index = size, leaf } = event;
    must(index === size, `${name} stands in the wrong place`);
    let node = leaf === undefined ? leafOf(event) : fromBase64(leaf, 32);
    for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) node = nodeOf(roots.pop() ?? node, node);
    roots.push(node);
    size += 1;
  }
  const root = roots.length === 0 ? sha256() : roots.reduceRight((right, left) => nodeOf(left, right));
  const isSame = size === tree.size && root.toString('base64') === tree.root;
  must(isSame, 'the leaves of the period lead to another root');
};

/** Of an organization each number is there; of a card each revision, which `checkChains` sees to. */
const checkNumbers = ({ head, tree, isWhole, events, said }) => {
  const { kind, subject, from } = head;
  const next = new Map();
  for (const { name, stream, org, org_seq: number, before } of events) {
    must(isWhole || (kind === 'card' ? stream : org) === subject, `${name} is not of ${subject}`);
    // A period begins after some events of its organization. The last of them stands in the log before it.
    const isCut = kind === 'period' && !isWhole && next.size === 0 && number > 0;
    must(isCut === (before !== undefined), `${name} ${isCut ? 'lacks' : 'must not have'} before`);
    if (isCut) {
      must(before.org === org && before.org_seq === number - 1, `event ${number - 1} is missing`);
      must(before.index < from, `event ${number - 1} is not before the period`);
      mustStand(before, tree);
    }
    const expected = next.get(org) ?? (isWhole || isCut ? number : 0);
    must(kind === 'card' || number === expected, `event ${expected} of ${org} is missing`);
    next.set(org, number + 1);
  }
  const [first, last] = [events[0], events.at(-1)];
  if (isWhole || first === undefined || last === undefined) return '';
  // A second leaf with one of the numbers may stand among those that are not shown.
  said.push(`no other event of ${subject} has one of these numbers`);
  if (last.index + 1 < tree.size) said.push(`no event of ${subject} follows ${last.number}`);
  return `, from ${first.number} to ${last.number}`;
};

// Trees of hashes (RFC 6962). `leafOf` says what a leaf is made of: it fixes all that is said of an event.

const nodeOf = (left, right) => sha256('\x01', left, right);

const leafOf = ({ stream, revision, hash, org, org_seq: number }) => {
  const lines = ['handwritten-card-service/event/v1', stream, revision, hash, org ?? '', number, ''];
  return sha256('\0', lines.join('\n'));
};

/**
 * The root of a tree of `count` leaves and that of a larger tree, from the hash of the complete subtree of
 * some width with which the smaller tree ends, and from its neighbours on the way up.
 */
const rootsOver = (count, size, width, hashes) => {
  const [below, hash] = [hashes.slice(0, -1), hashes.at(-1)];
  must(hash !== undefined && (size > width || below.length === 0), 'a proof has another length');
  if (size === width) return [hash, hash];
  const left = 2 ** ((size - 1).toString(2).length - 1);
  const isLeft = count <= left;
  const [smaller, larger] = isLeft
    ? rootsOver(count, left, width, below)
    : rootsOver(count - left, size - left, width, below);
  return isLeft ? [smaller, nodeOf(larger, hash)] : [nodeOf(hash, smaller), nodeOf(hash, larger)];
};

/** An inclusion proof (2.1.1): the event stands at its index of the tree. */
const mustStand = (event, tree) => {
  const { index, proof } = event;
  must(index < tree.size, `the tree has no leaf ${index}`);
  const [, root] = rootsOver(index + 1, tree.size, 1, [leafOf(event), ...hashesIn(proof)]);
  must(root.toString('base64') === tree.root, `the proof of leaf ${index} leads to another root`);
};

const emptyRoot = sha256().toString('base64');

/** A proof of consistency (2.1.2): the older tree is a prefix of this one. */
const mustBegin = (older, tree, proof) => {
  const { size, root } = older;
  must(size <= tree.size, 'the older tree is larger');
  if (size === 0) return must(proof.length === 0 && root === emptyRoot, 'the empty tree has another root');
  // The proof begins with the last complete subtree of the older tree, unless that is the whole of it.
  let width = size === tree.size ? size : 1;
  while (size % (2 * width) === 0) width *= 2;
  const hashes = hashesIn(size === width ? [root, ...proof] : proof);
  const roots = rootsOver(size, tree.size, width, hashes).map((hash) => hash.toString('base64'));
  must(roots[0] === root && roots[1] === tree.root, 'the proof leads to another root');
};

// Signed notes (c2sp.org/signed-note): a text, an empty line, and lines with signatures.

/** A key to check with: a name, four bytes of a hash, and one byte for its kind with the key, in base64. */
const keyOf = (vkey, isWitness) => {
  const [, name = '', id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? [];
  const bytes = fromBase64(base64, 33);
  must(bytes[0] === (isWitness ? 4 : 1), `${vkey} is no key of a ${isWitness ? 'witness' : 'log'}`);
  must(sha256(`${name}\n`, bytes).toString('hex', 0, 4) === id, `${vkey} has another id than its bytes`);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') };
  return { name, id, isWitness, publicKey: createPublicKey({ key: jwk, format: 'jwk' }), base64 };
};

/** The text of a note that the log has signed, and how many witnesses have. */
const openNote = (note, keys, origin) => {
  const [, text = '', lines = ''] = /^([^]*\n)\n((?:— [^\s+\p{Cc}]+ \S+\n){1,100})$/u.exec(note) ?? [];
  must(text !== '', 'this is no signed note');
  const signers = [];
  for (const [, name, base64 = ''] of lines.matchAll(/— (\S+) (\S+)\n/g)) {
    const bytes = fromBase64(base64);
    must(bytes.length > 4, 'a line with a signature is malformed');
    const key = keys.find((known) => known.name === name && known.id === bytes.toString('hex', 0, 4));
    // A key that was not asked for claims nothing.
    if (key === undefined) continue;
    must(bytes.length === (key.isWitness ? 76 : 68), `the signature of ${name} has another length`);
    // A witness signs the time, too (c2sp.org/tlog-cosignature).
    const head = key.isWitness ? `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n` : '';
    const isRight = isSignedBy(null, Buffer.from(`${head}${text}`), key.publicKey, bytes.subarray(-64));
    must(isRight, `the signature of ${name} is wrong`);
    signers.push(key);
  }
  const isOfLog = signers.some(({ name, isWitness }) => name === origin && !isWitness);
  must(isOfLog, `none of the keys of ${origin} has signed it`);
  const witnesses = signers.filter(({ isWitness }) => isWitness).map(({ base64 }) => base64);
  return { text, witnesses: new Set(witnesses).size };
};

/** A checkpoint (c2sp.org/tlog-checkpoint): origin, size, root, and lines that say no more. */
const openCheckpoint = (note, keys, origin) => {
  const { text, witnesses } = openNote(note, keys, origin);
  const [name, size = '', root = ''] = text.split('\n');
  must(name === origin && /^(0|[1-9]\d{0,15})$/.test(size), `this is no checkpoint of ${origin}`);
  must(isCount(Number(size)), 'the tree is larger than can be counted here');
  return { size: Number(size), root, witnesses };
};

const erasures = ['CardErased', 'ContactErased', 'ContactDeleted', 'DoNotMailRemoved'];

/** Personal data that is shown is what was recorded. Without a key it is erased only if an event says so. */
const checkPersonal = ({ events, said }) => {
  const erasedAt = new Map();
  for (const [at, { stream, type }] of events.entries())
    if (erasures.includes(type)) erasedAt.set(stream, at);
  const counts = { shown: 0, withheld: 0, erased: 0, unreadable: 0 };
  for (const [at, event] of events.entries()) {
    const { name, stream, personal, key, stamp } = event;
    must((stamp === null) === (key === undefined), `${name} has a key, or lacks one`);
    must(personal !== null || (key ?? null) === null, `${name} has a key for nothing`);
    const isRecorded = personal === null || hexOf(personal) === stamp?.digest;
    must(isRecorded, `${name} was recorded with other personal data`);
    if (stamp === null) continue;
    if (key !== null) checkSealed(event);
    if (personal === null) counts.withheld += 1;
    else if (key !== null) counts.shown += 1;
    else counts[erasedAt.get(stream) > at ? 'erased' : 'unreadable'] += 1;
  }
  const { shown, withheld, erased, unreadable } = counts;
  if (unreadable > 0) said.push(`the keys of ${unreadable} are lost, and no erasure in this file says why`);
  return `: ${shown} shown, ${withheld} withheld, ${erased} erased, ${unreadable} unreadable`;
};

/** Opens sealed personal data; throws unless the key is the one that it was sealed with. */
const checkSealed = ({ name, id, personal, key }) => {
  const { iv, sealed, commit } = parsed(personal);
  const secret = fromBase64(key, 32);
  const commitment = sha256('handwritten-card-service/personal-key/v1\n', secret).toString('base64');
  must(commitment === commit, `${name} was sealed with another key`);
  const bytes = fromBase64(sealed);
  const box = createDecipheriv('aes-256-gcm', secret, fromBase64(iv, 12), { authTagLength: 16 });
  box.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(-16));
  parsed(Buffer.concat([box.update(bytes.subarray(0, -16)), box.final()]).toString());
};

// Fronts. An event names that of a card, of a design or of a card of the collection by the SHA-256 of its
// print master. Each that was named has a line with these bytes, in the order in which they were.

const frontIn = (fields) => {
  const { front, bytes } = checkFields(fields, frontLine, 'the line of a front');
  const master = Buffer.from(bytes ?? '', 'base64');
  return { front, digest: master.toString('base64') === bytes ? hexOf(master) : bytes };
};

const checkFronts = ({ events, fronts, said }) => {
  const digests = events.map(({ facts: { order, design, artwork } }) => {
    return order?.design.front ?? (design?.artwork ?? artwork)?.digest;
  });
  const named = [...new Set(digests.filter(Boolean))];
  for (const [at, { front, digest }] of fronts.entries()) {
    must(front === named[at], `${front} is not the next front that the events name`);
    must(digest === null || digest === front, `front ${front} has other bytes`);
  }
  must(fronts.length === named.length, `front ${named[fronts.length]} is missing`);
  const gone = fronts.filter(({ digest }) => digest === null).length;
  if (gone > 0) said.push('fronts without bytes were erased or lost');
  return `: ${fronts.length - gone} shown, ${gone} erased or lost`;
};

// Credits. For a while a card may be paid for and not yet written, and a credit owed and not yet back: the
// service mends within a minute what a crash has left.
const maxOpen = 300_000;

/** Balances add up, nothing moves money twice, and what one event begins another one ends. */
const checkCredits = ({ events, head: { from = 0 } }) => {
  const [balances, causes] = [new Map(), new Set()];
  const sums = { CreditsPurchased: 0, CreditReturned: 0, CreditSpent: 0, CreditsWithdrawn: 0 };
  const open = new Map();
  /** Takes one half of a pair. Its other half has the opposite amount. */
  const pair = (name, amount, at) => {
    const { sum, since } = open.get(name) ?? { sum: 0, since: at };
    if (sum + amount === 0) open.delete(name);
    else open.set(name, { sum: sum + amount, since });
  };
  let [oldest, newest] = [Infinity, 0];
  for (const { name, stream, revision, type, facts, at, causationId } of events) {
    [oldest, newest] = [Math.min(oldest, at), Math.max(newest, at)];
    if (type === 'CardScheduled' || type === 'CardReleased') pair(`${name} ${causationId}`, -1, at);
    if (stream.startsWith('card-') && facts.owes > 0) pair(`${name} owes`, facts.owes, at);
    if (type === 'PurchaseOrdered') pair(stream, facts.amount, at);
    if (!stream.startsWith('credits-')) continue;

    const { cause, amount, balance } = facts;
    must(Object.hasOwn(sums, type), `${name} moves no credits`);
    must(isCount(amount) && amount > 0 && isCount(balance), `${name} moves no whole credits`);
    const change = type === 'CreditsPurchased' || type === 'CreditReturned' ? amount : -amount;
    // A ledger that began before the period says itself what it held then.
    const before = balances.get(stream) ?? (revision === 0 ? 0 : balance - change);
    must(before + change === balance, `${name} leaves another balance`);
    const once = `${stream} ${type} ${JSON.stringify(cause)}`;
    must(!causes.has(once), `${name} repeats a cause`);
    causes.add(once);
    balances.set(stream, balance);
    sums[type] += amount;
    // A credit was spent for a place in a card's stream, or came back because nothing of its own came there.
    const slot = cause.void ?? cause;
    if (slot.command) pair(`card-${slot.card}@${slot.revision} ${slot.command}`, -change, at);
    if (cause.owed) pair(`card-${cause.owed.card}@${cause.owed.revision} owes`, -change, at);
    if (type === 'CreditsPurchased') pair(`purchase-${cause}`, -change, at);
  }
  // What a period ends may have begun shortly before it. A purchase without a reference has no order.
  const left = [...open].filter(([name, { sum, since }]) => {
    return sum > 0 || (!name.startsWith('purchase-') && (from === 0 || since - oldest > maxOpen));
  });
  for (const [name, { since }] of left) must(newest - since <= maxOpen, `${name} stands alone`);
  const { CreditsPurchased: bought, CreditReturned: back, CreditSpent: spent, CreditsWithdrawn: out } = sums;
  const sum = [...balances.values()].reduce((all, balance) => all + balance, 0);
  const held = sum - bought - back + spent + out;
  const [start, less] = [held > 0 ? `${held} before + ` : '', out > 0 ? ` - ${out} withdrawn` : ''];
  const underWay = left.length > 0 ? `, ${left.length} on the way` : '';
  return `: ${start}${bought} purchased${less} - ${spent} spent + ${back} returned = ${sum}${underWay}`;
};

// The command line. What is not understood is never taken for verified.

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  process.exitCode = 1;
  try {
    const [text, list] = [{ type: 'string' }, { type: 'string', multiple: true }];
    const options = { key: list, witness: list, quorum: text, anchor: text };
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const { key: keys = [], witness: witnesses = [], quorum = `${witnesses.length}`, anchor } = values;
    const [path, ...others] = positionals;
    must(path !== undefined && others.length === 0, 'Name one file.');
    must(/^\d+$/.test(quorum), '--quorum must be a whole number.');
    const older = anchor === undefined ? undefined : readFileSync(anchor, 'utf8');
    const asked = { keys, witnesses, quorum: Number(quorum), anchor: older };
    const { report, verified } = verifyExport(readFileSync(path), asked);
    process.stdout.write(`${report.join('\n')}\n`);
    if (verified) process.exitCode = 0;
  } catch (error) {
    process.stdout.write(`${String(error)}\nNOT VERIFIED\n`);
  }
}
