import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that the system hands out by itself: no other process gets one of these while its server is
 * down.
 */
const range = [20_000, 32_000] as const;

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
};

/** A port that nobody listens on, for a server that keeps it over its restarts. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(...range);
    if (await isFree(port)) return port;
  }
};
