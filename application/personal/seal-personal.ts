import type { EventMetadata } from '../../domain/events.js';
import { Uuid } from '../../domain/ids.js';
import { DamagedLog } from '../log/damaged-log.js';
import { isDigestOf } from '../log/hash-chain.js';
import type { KeyRing } from './key-ring.js';
import { sealNext } from './personal.js';
import type { StoredPersonal, StoredPersonalTexts } from '../ports/stored-personal.js';
import type { Entropy } from '../ports/system.js';

export interface SealedLog {
  readonly sealed: number;
  /** Of cards and contacts that were erased meanwhile: the keys of their data are destroyed already. */
  readonly erased: number;
}

const sealedAtOnce = 100;

/**
 * Seals the personal data that version 1 of the chain left in the clear. Each text must be what its digest
 * was made of; the hashes of events don't change. It can be stopped anywhere and begun again. Throws
 * DamagedLog and PersonalKeysUnavailable.
 */
export const sealPersonal = async (
  texts: StoredPersonalTexts,
  keys: Pick<KeyRing, 'next' | 'ready' | 'destroy'>,
  entropy: Pick<Entropy, 'bytes'>,
  onProgress: (sealed: number) => void = () => undefined,
): Promise<SealedLog> => {
  const sealedText = ({ position, id, personal, metadata }: StoredPersonal) => {
    const { personal: stamp } = JSON.parse(metadata) as EventMetadata;
    if (!isDigestOf(stamp, personal))
      throw new DamagedLog(BigInt(position), 'its personal data is not what was recorded', 'events.db');
    return sealNext(keys, entropy, Uuid.parse(id), personal);
  };
  let [sealed, erased] = [0, 0];
  for (let last = 0; ;) {
    const found = texts.inTheClear(last, sealedAtOnce);
    const end = found.at(-1);
    if (end === undefined) return { sealed, erased };
    await keys.ready();
    const replaced = found.map((event) => ({ event, ...sealedText(event) }));
    const gone = replaced.filter(({ event: { stream, revision } }) => revision < texts.erasedAt(stream));
    await keys.destroy(gone.map(({ keyId }) => keyId));
    texts.replace(replaced.map(({ event, text }) => [event.position, text]));
    erased += gone.length;
    sealed += replaced.length - gone.length;
    last = end.position;
    onProgress(sealed + erased);
  }
};
