import { handwriting } from '../domain/catalogue.js';
import { projection } from './projection.js';

export interface HandwritingDocument {
  readonly name: string;
  readonly active: boolean;
}

export const handwritings = projection({
  name: 'handwritings',
  version: 1,
  from: handwriting,
  evolve: (document: HandwritingDocument | null, event): HandwritingDocument | null =>
    event.type === 'HandwritingOffered'
      ? { name: event.data.name, active: true }
      : document && { ...document, active: false },
  org: () => null,
});
