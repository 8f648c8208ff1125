import { NamedError } from './errors.js';
import { parseVkey, UnknownAlgorithm, type NoteKey } from './signed-note.js';

/** A witness of checkpoints. `url`: where it takes them, if it is to be asked. */
export interface Witness {
  readonly key: NoteKey;
  readonly url: string | null;
}

/**
 * The signatures that make a checkpoint valid: c2sp.org/tlog-policy. Logs and witnesses with keys of an
 * unknown algorithm are left out: their signatures are never counted.
 */
export interface LogPolicy {
  readonly logs: readonly NoteKey[];
  readonly witnesses: readonly Witness[];
  /** Whether the keys that have signed are enough. */
  readonly isMet: (signed: readonly NoteKey[]) => boolean;
}

export class MalformedPolicy extends NamedError {}

type Rule = (signed: readonly NoteKey[]) => boolean;

const isSame = (one: NoteKey, other: NoteKey): boolean => one.publicKey.equals(other.publicKey);

/** A key for a purpose; null if its algorithm is unknown. Throws MalformedKey and MalformedPolicy. */
const keyFor = (kind: NoteKey['kind'], vkey: string, known: readonly NoteKey[]): NoteKey | null => {
  try {
    const key = parseVkey(vkey);
    if (key.kind !== kind) throw new MalformedPolicy(`${vkey} is a key of another kind`);
    if (known.some((other) => isSame(other, key))) throw new MalformedPolicy(`${vkey} is listed twice`);
    return key;
  } catch (error) {
    if (error instanceof UnknownAlgorithm) return null;
    throw error;
  }
};

const thresholdOf = (text: string, members: number): number => {
  if (text === 'all') return members;
  if (text === 'any') return 1;
  return /^[1-9][0-9]*$/.test(text) && Number(text) <= members ? Number(text) : NaN;
};

/** Throws MalformedPolicy, with the number of the line. */
export const parsePolicy = (text: string): LogPolicy => {
  const logs: NoteKey[] = [];
  const witnesses: Witness[] = [];
  const rules = new Map<string, Rule>([['none', () => true]]);
  const members = new Set<string>();
  let quorum: Rule | null = null;

  const define = (name: string, rule: Rule): void => {
    if (rules.has(name)) throw new MalformedPolicy(`${name} is already defined`);
    rules.set(name, rule);
  };
  const ruleOf = (name: string): Rule => {
    const rule = rules.get(name);
    if (rule === undefined) throw new MalformedPolicy(`${name} must be defined before this line`);
    return rule;
  };
  const group = (name: string, threshold: string, names: readonly string[]): void => {
    const parts = names.map((member) => {
      if (member === 'none' || members.has(member))
        throw new MalformedPolicy(`${member} can't be a member here`);
      members.add(member);
      return ruleOf(member);
    });
    const least = thresholdOf(threshold, parts.length);
    if (!(least >= 1))
      throw new MalformedPolicy(`${threshold} must be all, any or a number from 1 to ${parts.length}`);
    define(name, (signed) => parts.filter((rule) => rule(signed)).length >= least);
  };
  const take = (line: string): void => {
    const [word = '', name = '', second = '', ...rest] = line.split(/[ \t]+/).filter((item) => item !== '');
    if (word === '' || word.startsWith('#')) return;
    if (word === 'log' && name !== '' && rest.length === 0) {
      const key = keyFor('note', name, logs);
      if (key !== null) logs.push(key);
    } else if (word === 'witness' && second !== '' && rest.length <= 1) {
      const known = witnesses.map((witness) => witness.key);
      const [key, url] = [keyFor('cosignature', second, known), rest[0] ?? null];
      if (url !== null && !URL.canParse(url)) throw new MalformedPolicy(`${url} is not a URL`);
      define(name, (signed) => key !== null && signed.some((other) => isSame(other, key)));
      if (key !== null) witnesses.push({ key, url });
    } else if (word === 'group' && rest.length > 0) group(name, second, rest);
    else if (word === 'quorum' && name !== '' && second === '' && quorum === null) quorum = ruleOf(name);
    else throw new MalformedPolicy(`this line can't be understood: ${line.trim()}`);
  };

  text.split('\n').forEach((line, at) => {
    try {
      take(line);
    } catch (error) {
      throw new MalformedPolicy(`line ${at + 1}: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
  if (quorum === null) throw new MalformedPolicy('it needs a line `quorum`');
  return { logs, witnesses, isMet: quorum };
};
