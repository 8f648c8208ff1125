import { hash } from 'node:crypto';
import { expect } from 'chai';
import { keyRing } from '../../../application/personal/key-ring.js';
import { openText } from '../../../application/personal/personal.js';
import { sealPersonal } from '../../../application/personal/seal-personal.js';
import type { StoredPersonalTexts } from '../../../application/ports/stored-personal.js';
import { derivedUuid, streamName } from '../../../domain/ids.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';

const masters: MasterKeys = [{ id: 'newest', key: Buffer.alloc(32, 1) }];
const store = new MemoryPersonalKeys();
const ringOf = (seed: number) =>
  keyRing({ store, masters, clock: new VirtualClock(), entropy: new SeededEntropy(seed) });

const plainOf = (position: number): string => `{"recipient":{"name":"Ada ${position}"}}`;

describe('sealing an older log', () => {
  it('goes on where it was stopped, and seals each text once with a key of its own', async () => {
    const texts = new Map(
      Array.from({ length: 250 }, (_, index) => [index + 1, plainOf(index + 1)] as const),
    );
    const stored: StoredPersonalTexts = {
      inTheClear: (after, limit) =>
        [...texts]
          .filter(([position, text]) => position > after && !text.startsWith('{"v":2'))
          .slice(0, limit)
          .map(([position, personal]) => ({
            position,
            stream: streamName('card', `HC-${position}`),
            revision: 0,
            id: derivedUuid('sealing', position),
            personal,
            metadata: JSON.stringify({
              personal: { salt: 'salt', digest: hash('sha256', `salt\n${personal}`, 'hex') },
            }),
          })),
      erasedAt: () => -1,
      replace: (replaced) => {
        for (const [position, text] of replaced) texts.set(position, text);
      },
    };
    const stopped = await sealPersonal(stored, ringOf(1), new SeededEntropy(2), () => {
      throw new Error('killed');
    }).catch((error: unknown) => String(error));
    expect(stopped).to.equal('Error: killed');
    const first = texts.get(1);
    const { sealed, erased } = await sealPersonal(stored, ringOf(3), new SeededEntropy(4));
    expect([sealed, erased, texts.get(1)]).to.deep.equal([150, 0, first]);
    const ring = ringOf(5);
    const used = new Set<string>();
    for (const [position, text] of texts) {
      const parsed = JSON.parse(text) as { readonly key: string };
      used.add(parsed.key);
      await ring.load([parsed.key]);
      const key = ring.keyOf(parsed.key) ?? Buffer.alloc(0);
      expect(openText(key, derivedUuid('sealing', position), parsed)).to.equal(plainOf(position));
    }
    expect(used.size).to.equal(250);
  });
});
