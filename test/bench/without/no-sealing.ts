import type { PersonalSeal } from '../../../application/log/hash-chain.js';
import { unsealed } from '../../support/fixtures/seal-events.js';

export * from '../../../application/personal/personal.js';

export const personalSeal = (): PersonalSeal => unsealed;
