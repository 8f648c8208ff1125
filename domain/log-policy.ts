import { parseVkey, type NoteKey } from './signed-note.js';

/** A witness of checkpoints. `url`: where it takes them, if it is to be asked. */
export interface Witness {
  readonly key: NoteKey;
  readonly url: string | null;
}

/** Whose signatures make a checkpoint valid: c2sp.org/tlog-policy. */
export interface LogPolicy {
  readonly logs: readonly NoteKey[];
  readonly witnesses: readonly Witness[];
  /** Whether the keys that have signed are enough. */
  readonly isMet: (signed: readonly NoteKey[]) => boolean;
}

export class MalformedPolicy extends Error {
  override readonly name = 'MalformedPolicy';
}

type Rule = (signed: readonly NoteKey[]) => boolean;

const isSame = (one: NoteKey, other: NoteKey): boolean => one.publicKey.equals(other.publicKey);

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

  const keyOf = (vkey: string, kind: NoteKey['kind']): NoteKey => {
    const key = parseVkey(vkey);
    if (key.kind !== kind) throw new MalformedPolicy(`${vkey} is the key of something else`);
    if ([...logs, ...witnesses.map((witness) => witness.key)].some((known) => isSame(known, key)))
      throw new MalformedPolicy(`${vkey} is there already`);
    return key;
  };
  const define = (name: string, rule: Rule): void => {
    if (rules.has(name)) throw new MalformedPolicy(`${name} has a meaning already`);
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
    if (!(least >= 1)) throw new MalformedPolicy(`${threshold} is no number of members`);
    define(name, (signed) => parts.filter((rule) => rule(signed)).length >= least);
  };
  const take = (line: string): void => {
    const [word = '', name = '', second = '', ...rest] = line.split(/[ \t]+/).filter((item) => item !== '');
    if (word === '' || word.startsWith('#')) return;
    if (word === 'log' && name !== '' && rest.length === 0) logs.push(keyOf(name, 'note'));
    else if (word === 'witness' && second !== '' && rest.length <= 1) {
      const witness = { key: keyOf(second, 'cosignature'), url: rest[0] ?? null };
      if (witness.url !== null && !URL.canParse(witness.url))
        throw new MalformedPolicy(`${witness.url} is no URL`);
      define(name, (signed) => signed.some((key) => isSame(key, witness.key)));
      witnesses.push(witness);
    } else if (word === 'group' && rest.length > 0) group(name, second, rest);
    else if (word === 'quorum' && name !== '' && second === '' && quorum === null) quorum = ruleOf(name);
    else throw new MalformedPolicy(`this line is not understood: ${line.trim()}`);
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
