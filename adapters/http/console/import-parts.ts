import type { ContactImport } from '../../../application/contacts/imports.js';
import type { Tone } from '../web/parts.js';

export const importTones: Readonly<Record<ContactImport['status'], Tone>> = {
  running: 'busy',
  done: 'good',
  stopped: 'idle',
  failed: 'bad',
};
