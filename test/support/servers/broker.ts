import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../../../test/engines/start', import.meta.url));

/** Whether a RabbitMQ can be started here: the package of Debian. */
export const canStartBroker = existsSync('/usr/sbin/rabbitmq-server');

/**
 * A RabbitMQ for one test: other tests share the one that RABBITMQ_URL names, which must not be disturbed.
 */
export interface Broker {
  readonly url: string;
  /** `rabbitmqctl` with these arguments. Rejects if it fails. */
  readonly control: (...args: string[]) => Promise<void>;
  /** `rabbitmq-diagnostics` with these arguments. Rejects if it fails. */
  readonly diagnose: (...args: string[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export const startBroker = async (): Promise<Broker> => {
  const home = await mkdtemp(join(tmpdir(), 'card-broker-'));
  const child = spawn(script, ['rabbitmq'], {
    env: { ...process.env, ENGINE_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const ended = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  process.once('exit', () => child.kill('SIGTERM'));
  const lines = createInterface({ input: child.stdout });
  const [url] = await Promise.race([once(lines, 'line'), ended]);
  if (typeof url !== 'string')
    throw new Error('RabbitMQ is installed and does not start: test/engines/start rabbitmq shows why');
  const run = promisify(execFile);
  const running =
    (tool: string) =>
    async (...args: string[]): Promise<void> =>
      void (await run(join(home, tool), args));
  return { url, control: running('rabbitmqctl'), diagnose: running('rabbitmq-diagnostics'), stop };
};
