import type { HookSettings } from '../../../domain/hook.js';
import { exampleRecipient } from '../api/card-fields.js';
import { newHook } from '../operator/hooks.js';
import { parseValues } from '../schema/read.js';
import type { Sent } from './page.js';

/** The editor's content: the settings of the hook, and a payload to try them with. */
export interface Draft {
  readonly label: string;
  readonly template: string;
  readonly signedBy: string;
  readonly design: string;
  readonly payload: string;
}

const samplePayload = { ...exampleRecipient, order: { item: 'straw hat' } };

/** The settings as they are, with a payload to try them with. */
export const draftOf = ({ label, template, signedBy, design }: HookSettings): Draft => ({
  label: label ?? '',
  template: template ?? '',
  signedBy: signedBy ?? '',
  design: design ?? '',
  payload: JSON.stringify(samplePayload, null, 2),
});

export const draftFrom = (sent: Sent): Draft => ({
  label: sent('label'),
  template: sent('template'),
  signedBy: sent('signed_by'),
  design: sent('design_id'),
  payload: sent('payload'),
});

/** Reads the settings in the editor; empty fields are null. Throws `invalid_parameter`. */
export const settingsFrom = ({ label, template, signedBy, design }: Draft): HookSettings => {
  // Browsers send the line breaks of the network, which no template has that came over the API.
  const lines = template.replaceAll('\r\n', '\n');
  const read = parseValues(newHook, { label, template: lines, signed_by: signedBy, design_id: design });
  return {
    label: read.label,
    template: read.template,
    signedBy: read.signed_by,
    design: read.design_id,
  };
};
