/**
 * Loaded before a program (`node --import`): its machine's clock is CLOCK_AHEAD milliseconds ahead of the
 * real one, and jumps by CLOCK_JUMP more at SIGUSR2. The monotonic clock goes on as ever.
 */
const { now } = Date;
let ahead = Number(process.env['CLOCK_AHEAD'] ?? 0);

const shifted = (): number => now() + ahead;
Date.now = shifted;
globalThis.Date = new Proxy(Date, {
  construct: (target, given: unknown[], self) =>
    Reflect.construct(target, given.length === 0 ? [shifted()] : given, self) as object,
});

process.on('SIGUSR2', () => {
  ahead += Number(process.env['CLOCK_JUMP'] ?? 0);
  process.stdout.write('{"clock":"jumped"}\n');
});
