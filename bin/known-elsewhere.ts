import { z } from 'zod';
import { askWitness } from '../adapters/log-witness/client.js';
import { headsOfAnchors } from '../adapters/log-witness/known-heads.js';
import type { KnownHead } from '../application/log/notarize.js';
import type { LogTiles } from '../application/ports/log-tiles.js';
import { headsOfWitnesses } from '../application/log/witnesses.js';
import type { LogPolicy } from '../domain/log-policy.js';
import { parseVkey } from '../domain/signed-note.js';
import type { LogKeys } from './log-keys.js';
import type { Settings } from './settings.js';

const Elsewhere = z.object({
  vkeys: z.array(z.string()),
  logAnchorDir: z.string().nullable(),
  logPolicyFile: z.string().nullable(),
});
/** Where heads of the log are kept besides with its tiles, in a form that can be sent to a thread. */
export type Elsewhere = z.infer<typeof Elsewhere>;

/** Without a key of the log nothing that is kept elsewhere can be trusted. */
export const elsewhereOf = (
  { logAnchorDir, logPolicyFile }: Pick<Settings, 'logAnchorDir' | 'logPolicyFile'>,
  keys: LogKeys | null,
): Elsewhere => ({ vkeys: [...(keys?.vkeys ?? [])], logAnchorDir, logPolicyFile });

/** Loaded only where there is one: it brings the whole of the settings into the thread. */
const policyOf = async (settings: Pick<Settings, 'logPolicyFile'>): Promise<LogPolicy | null> =>
  settings.logPolicyFile === null ? null : (await import('./log-policy.js')).logPolicy(settings);

/**
 * The heads of the log that its anchors and witnesses know, so that a log that was set back, or whose tree
 * was removed together with its checkpoints, is not signed again; none if nobody said where.
 * (docs/audit.md#the-notary)
 */
export const knownElsewhere = async (
  elsewhere: unknown,
  tiles: Pick<LogTiles, 'newest'>,
  { report, signal }: { readonly report: (error: unknown) => void; readonly signal: AbortSignal },
): Promise<readonly KnownHead[]> => {
  if (elsewhere === undefined) return [];
  const { vkeys, ...settings } = Elsewhere.parse(elsewhere);
  if (vkeys.length === 0) return [];
  const { logAnchorDir } = settings;
  const policy = await policyOf(settings);
  const anchors =
    logAnchorDir === null
      ? []
      : await headsOfAnchors(logAnchorDir, vkeys.map(parseVkey)).catch((error: unknown) => {
          report(error);
          return [];
        });
  if (policy === null) return anchors;
  const { witnesses } = policy;
  const witnessed = await headsOfWitnesses(
    { witnesses, ask: askWitness, report },
    await tiles.newest(),
    signal,
  );
  return [...anchors, ...witnessed];
};
