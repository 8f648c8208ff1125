import { z } from 'zod';
import { kindOf } from './perform.js';

// A process that performs the runs whose seeds it is sent, one after the other.

const Asked = z.object({ seed: z.int(), whole: z.boolean(), weather: z.string().nullable() });
export type Asked = z.infer<typeof Asked>;

const Performed = z.object({
  seed: z.int(),
  weather: z.array(z.string()),
  wrong: z.array(z.string()),
  digest: z.string(),
});
export type Performed = z.infer<typeof Performed>;

const perform = async (sent: unknown): Promise<Performed> => {
  const { seed, whole, weather: wished } = Asked.parse(sent);
  const kind = await kindOf(whole);
  const { weather, wrong, digest } = await kind.perform({
    seed,
    weather: wished,
    size: kind.usualSize(seed),
  });
  return { seed, weather: [...weather], wrong: [...wrong], digest };
};

// Many errors are part of a run, and their stacks cost more than they do. `npm run simulate -- --seeds A`
// shows stacks.
Error.stackTraceLimit = 0;

process.on('message', (sent) => void perform(sent).then((performed) => process.send?.(performed)));
