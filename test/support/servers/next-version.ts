import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * Makes the next version of the service in a directory: the same program with a higher version of the read
 * model of cards. Returns the program.
 */
export const nextVersion = async (directory: string): Promise<string> => {
  const dist = join(directory, 'dist');
  await mkdir(dist, { recursive: true });
  for (const folder of ['adapters', 'application', 'bin', 'domain', 'projections'])
    await cp(join(root, 'dist', folder), join(dist, folder), { recursive: true });
  await cp(join(root, 'package.json'), join(directory, 'package.json'));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  const cards = join(dist, 'projections/cards.js');
  const text = await readFile(cards, 'utf8');
  const changed = text.replace(/version: (\d+)/, (_, version: string) => `version: ${Number(version) + 1}`);
  if (changed === text) throw new Error('the projection of cards has no version');
  await writeFile(cards, changed);
  return join(dist, 'bin/serve.js');
};
