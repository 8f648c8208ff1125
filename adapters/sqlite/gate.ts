/**
 * Makes it safe to end the process while threads use SQLite. When a process exits, Node ends its threads
 * wherever they are; inside SQLite that aborts the process (SIGABRT), and its exit code is lost. So a thread
 * does each piece of work inside the gate, and the gate is shut before the process ends. All threads share
 * it. (docs/engines.md#sqlite)
 */
export type Gate = SharedArrayBuffer;

export const newGate = (): Gate => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

/** The gate's two numbers: how many threads are inside, and whether it is shut (1). */
const inside = 0;
const shut = 1;

/** Does a piece of work inside the gate. Must not be called within such work. */
export type InsideGate = <Result>(work: () => Result) => Result;

/** For a thread. Its work waits while the gate is shut. */
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

/** Ending the process waits at most 2 s for the threads inside. */
const rounds = 20;
const roundMs = 100;

/**
 * Shuts the gate, waits until no thread is inside, then calls `end`, which ends the process. If `end` returns
 * or throws, the gate opens again.
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
