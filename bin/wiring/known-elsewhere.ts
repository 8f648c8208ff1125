import { askWitness } from '../../adapters/log-witness/client.js';
import { headFile } from '../../adapters/log-witness/head-file.js';
import { anchorsIn, headsOfAnchors } from '../../adapters/log-witness/anchors.js';
import type { Notarizing } from '../../application/log/notarize.js';
import { Witnesses, type WitnessesDeps } from '../../application/log/witnesses.js';
import type { SignedHeads } from '../../application/ports/signed-heads.js';
import { parseVkey } from '../../domain/signed-note.js';
import type { LogKeys } from '../settings/log-keys.js';
import type { Settings } from '../settings/settings.js';

/** Where heads of the log are kept besides with its tiles, in a form that can be sent to a thread. */
export type Elsewhere = Pick<LogKeys, 'vkeys'> & Places;
type Places = Pick<Settings, 'logHeadFile' | 'logAnchorDir' | 'logPolicyFile'>;

/** Without a key of the log nothing that is kept elsewhere can be trusted. */
export const elsewhereOf = (
  { logHeadFile, logAnchorDir, logPolicyFile }: Places,
  keys: LogKeys | null,
): Elsewhere => ({ vkeys: keys?.vkeys ?? [], logHeadFile, logAnchorDir, logPolicyFile });

/** The last signed head of the log; null where no key identifies the log's heads. */
export const lastHeadIn = ({ logHeadFile, vkeys }: Elsewhere): SignedHeads | null =>
  vkeys.length === 0 ? null : headFile(logHeadFile, vkeys.map(parseVkey));

/**
 * The heads outside the store that the notary compares the log with, and brings its checkpoints to: the last
 * signed head, anchors and witnesses; nothing if there is no key. (docs/audit.md#the-notary)
 */
export const keptElsewhere = async (
  elsewhere: Elsewhere,
  deps: Omit<WitnessesDeps, 'policy' | 'ask'>,
): Promise<Pick<Notarizing, 'heads' | 'knownElsewhere' | 'witnesses' | 'anchor'>> => {
  const heads = lastHeadIn(elsewhere);
  if (heads === null) return {};
  const { vkeys, logAnchorDir, logPolicyFile } = elsewhere;
  // Loaded only where there is one: it brings the whole of the settings into the thread.
  const policy = logPolicyFile && (await import('../settings/log-policy.js')).logPolicy({ logPolicyFile });
  const keys = vkeys.map(parseVkey);
  return {
    heads,
    witnesses: policy ? new Witnesses({ ...deps, policy, ask: askWitness }) : null,
    ...(logAnchorDir !== null && {
      knownElsewhere: () => headsOfAnchors(logAnchorDir, keys, deps.report),
      anchor: anchorsIn(logAnchorDir, keys, deps.report),
    }),
  };
};
