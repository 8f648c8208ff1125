import type { LogPolicy, Witness } from '../../domain/log-policy.js';
import type { Milliseconds } from '../../domain/ids.js';
import { openNote, withSignatures, type NoteSignature } from '../../domain/signed-note.js';
import { messageOf, NamedError } from '../../domain/errors.js';
import { consistencyProof, MissingTiles } from './log-proofs.js';
import type { LogTiles } from '../ports/log-tiles.js';
import type { SignedHead } from '../ports/signed-heads.js';
import type { Clock } from '../ports/system.js';
import type { AskWitness } from '../ports/witnesses.js';

export interface WitnessStatus {
  readonly name: string;
  /** Why it does not sign, in words: it has signed another tree, or a larger one. Null if it signs. */
  readonly refusal: string | null;
  /** The largest size that it has signed since this process started, and its time; zeros for none. */
  readonly size: number;
  readonly time: number;
}

export interface WitnessesDeps {
  readonly tiles: Pick<LogTiles, 'hashes'>;
  readonly policy: Pick<LogPolicy, 'witnesses' | 'isMet'>;
  readonly ask: AskWitness;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly report: (error: unknown) => void;
  /** Called with the state of the witnesses after each round. */
  readonly onStatus?: (all: readonly WitnessStatus[]) => void;
}

/** Too many witnesses refuse for the policy's quorum to sign this log any more. */
export class RefusedByWitnesses extends NamedError {}

/** A witness refuses because of an earlier signature. */
class Refused extends Error {}

/** One that gives no answer, or refuses, is asked again after this time: it must not hold up the others. */
const askAgainAfter: Milliseconds = 60_000;

interface WitnessState {
  /** The size that it has signed last, as far as is known; null if it was not asked. */
  at: number | null;
  refusal: string | null;
  signed: Pick<WitnessStatus, 'size' | 'time'>;
  notBefore: Milliseconds;
}

interface Asked {
  readonly witness: Witness;
  readonly url: string;
  readonly known: WitnessState;
}

/** Brings heads of the log to the witnesses of its policy. */
export class Witnesses {
  readonly #asked: readonly Asked[];

  constructor(private readonly deps: WitnessesDeps) {
    this.#asked = deps.policy.witnesses.flatMap((witness) =>
      witness.url === null
        ? []
        : {
            witness,
            url: witness.url,
            known: { at: null, refusal: null, signed: { size: 0, time: 0 }, notBefore: -Infinity },
          },
    );
  }

  /** Whether one of them could sign a head of that size and has not, and may be asked again. */
  areDue(size: number): boolean {
    const now = this.deps.clock.monotonic();
    return this.#asked.some(({ known }) => known.signed.size < size && known.notBefore <= now);
  }

  /**
   * Asks for signatures on a head, and returns its note with the signatures; unreachable witnesses are
   * reported. Throws RefusedByWitnesses if too few are left for the policy.
   */
  async bring(head: SignedHead, signal: AbortSignal): Promise<string> {
    const { policy, onStatus } = this.deps;
    const signatures = await Promise.all(this.#asked.map((each) => this.#signaturesOf(each, head, signal)));
    onStatus?.(
      this.#asked.map(({ witness, known: { refusal, signed } }) => ({
        name: witness.key.name,
        refusal,
        ...signed,
      })),
    );
    const refusing = this.#asked.filter(({ known }) => known.refusal !== null);
    const others = policy.witnesses.filter((each) => !refusing.some(({ witness }) => witness === each));
    if (refusing.length > 0 && !policy.isMet(others.map(({ key }) => key)))
      throw new RefusedByWitnesses(
        `without them the quorum of LOG_POLICY_FILE is impossible: ${refusing.map(({ known }) => known.refusal).join('; ')}`,
      );
    return signatures.some(({ length }) => length > 0)
      ? withSignatures(head.note, signatures.flat())
      : head.note;
  }

  async #signaturesOf(
    { witness: { key }, url, known }: Asked,
    head: SignedHead,
    signal: AbortSignal,
  ): Promise<readonly NoteSignature[]> {
    const { clock, report } = this.deps;
    if (known.notBefore > clock.monotonic()) return [];
    try {
      const signatures = await this.#ask(url, known.at ?? head.size, head, signal);
      const own = signatures.filter(({ name, id }) => name === key.name && id === key.id);
      const { verified } = openNote(withSignatures(head.note, own), [key]);
      const signed = { size: head.size, time: verified[0]?.time ?? 0 };
      Object.assign(known, { at: head.size, refusal: null, signed });
      return own;
    } catch (error) {
      if (error instanceof Refused)
        Object.assign(known, { at: null, refusal: `${key.name} ${error.message}` });
      // Proofs are there once lost tiles are made again.
      if (!(error instanceof MissingTiles)) known.notBefore = clock.monotonic() + askAgainAfter;
      if (!signal.aborted)
        report(new Error(`The witness ${key.name} did not sign: ${messageOf(error)}`, { cause: error }));
      return [];
    }
  }

  /** `old`: the size that the witness has signed last, as far as is known. Throws Refused. */
  async #ask(
    url: string,
    old: number,
    { size, note }: Pick<SignedHead, 'size' | 'note'>,
    signal: AbortSignal,
    isSecond = false,
  ): Promise<readonly NoteSignature[]> {
    if (old > size) throw new Refused(`has signed a tree of ${old} events, and this one has ${size}`);
    const proof = old === size ? [] : await consistencyProof(this.deps.tiles, old, size);
    const asked = await this.deps.ask(url, { old, proof, note }, signal);
    if (asked.kind === 'signed') return asked.signatures;
    if (asked.kind === 'refused' || asked.size === old)
      throw new Refused(`has signed another tree of ${old} events`);
    if (isSecond) throw new Error(`it has signed ${asked.size} events after it said ${old}`);
    return this.#ask(url, asked.size, { size, note }, signal, true);
  }
}
