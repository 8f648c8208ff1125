import { listHookCalls, readHook } from '../../../application/hooks/hooks.js';
import { previewHook, type HookPreview } from '../../../application/hooks/fire-hook.js';
import { readDesigns } from '../../../application/organizations/read-accounts.js';
import { DomainError } from '../../../domain/errors.js';
import type { HookSettings } from '../../../domain/hook.js';
import type { Uuid } from '../../../domain/ids.js';
import { exampleRecipient } from '../api/card-fields.js';
import { readHookPayload } from '../api/hook-payload.js';
import { newHook } from '../operator/hooks.js';
import { parseObject } from '../server/json-body.js';
import { parseValues, type JsonObject } from '../schema/read.js';
import { idFrom } from './admit.js';
import type { OrgContext, Sent } from './page.js';
import { partOf } from './paging.js';

const fields = ['label', 'template', 'signed_by', 'design_id', 'payload'] as const;

/** The editor's content, by its fields: the settings of the hook, and a payload to try them with. */
export type Draft = Readonly<Record<(typeof fields)[number], string>>;

const samplePayload = { ...exampleRecipient, order: { item: 'straw hat' } };

/** The settings as they are, with a payload to try them with. */
export const draftOf = ({ label, template, signedBy, design }: HookSettings): Draft => ({
  label: label ?? '',
  template: template ?? '',
  signed_by: signedBy ?? '',
  design_id: design ?? '',
  payload: JSON.stringify(samplePayload, null, 2),
});

export const draftFrom = (sent: Sent): Draft =>
  Object.fromEntries(fields.map((name) => [name, sent(name)])) as Draft;

/** Reads the settings in the editor; empty fields are null. Throws `invalid_parameter`. */
export const settingsFrom = (draft: Draft): HookSettings => {
  // Browsers send the line breaks of the network, which no template has that came over the API.
  const read = parseValues(newHook, { ...draft, template: draft.template.replaceAll('\r\n', '\n') });
  return { label: read.label, template: read.template, signedBy: read.signed_by, design: read.design_id };
};

export const hookIdIn = ({ params }: OrgContext): Uuid => idFrom(params['id'] ?? '');

/** Throws `not_found`, also for a hook of others. */
export const loadHook = async (context: OrgContext) => {
  const { deps, org, query, mayAct } = context;
  const id = hookIdIn(context);
  const hook = await readHook(deps, org, id);
  return {
    hook,
    designs: await readDesigns(deps, org),
    calls: await partOf(query, (part) => listHookCalls(deps, org, id, part)),
    mayManage: mayAct && hook.status !== 'deleted',
  };
};

export interface HookData extends Awaited<ReturnType<typeof loadHook>> {
  readonly draft: Draft;
  /** Null while the editor holds a refused draft. */
  readonly preview: HookPreview | null;
}

const payloadIn = ({ payload }: Draft): JsonObject => {
  try {
    return parseObject(Buffer.from(payload));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new DomainError(error.code, error.message.replace('The body', 'The sample payload'), 'payload');
  }
};

/** Previews a call with the draft's payload. Throws the refusal of an invalid draft. */
export const previewOf = async (context: OrgContext, draft: Draft): Promise<HookPreview> => {
  const { deps, org, command } = context;
  const settings = { org, ...settingsFrom(draft) };
  const request = readHookPayload(payloadIn(draft));
  return previewHook(deps, hookIdIn(context), settings, request, command());
};
