/**
 * Node ends the threads of a process that exits wherever they are. One that is inside SQLite then aborts the
 * process (SIGABRT), and its exit code is lost. So threads do each piece of work inside a gate, and whoever
 * ends the process shuts it first. Shared by all threads.
 */
export type Gate = SharedArrayBuffer;

/** How many threads are inside, and whether the gate is shut. */
const inside = 0;
const shut = 1;

const rounds = 20;
const roundMs = 100;

export const newGate = (): Gate => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

/** Does a piece of work inside. Works do not nest. */
export type InsideGate = <Result>(work: () => Result) => Result;

/** For a thread: its work waits while the gate is shut. */
export const insideGate = (gate: Gate): InsideGate => {
  const view = new Int32Array(gate);
  const leave = () => {
    Atomics.sub(view, inside, 1);
    if (Atomics.load(view, shut) === 1) Atomics.notify(view, inside);
  };
  const enter = () => {
    for (;;) {
      Atomics.add(view, inside, 1);
      if (Atomics.load(view, shut) === 0) return;
      leave();
      Atomics.wait(view, shut, 1);
    }
  };
  return (work) => {
    enter();
    try {
      return work();
    } finally {
      leave();
    }
  };
};

/**
 * Shuts the gate, waits until no thread is inside, for at most 2 s, and does what ends the process. Where
 * that returns after all, the gate opens again.
 */
export const whileShut = (gate: Gate, end: () => void): void => {
  const view = new Int32Array(gate);
  Atomics.store(view, shut, 1);
  try {
    for (let round = 0; round < rounds && Atomics.load(view, inside) > 0; round += 1)
      Atomics.wait(view, inside, Atomics.load(view, inside), roundMs);
    end();
  } finally {
    Atomics.store(view, shut, 0);
    Atomics.notify(view, shut);
  }
};
