import type { Projector } from '../../../../application/projecting/project.js';
import type {
  ProjectionBoard,
  ProjectorReports,
  ProjectorStatus,
} from '../../../../application/projecting/projection-board.js';
import { allProjections } from '../../../../projections/all.js';
import type { VirtualClock } from '../../memory/clock.js';

const down: ProjectorStatus = { down: 'no projector is at work', projections: [] };

/**
 * What all processes hear of the one projector that is at work, each a little later, and what they ask of it.
 */
export class Feeding implements ProjectorReports {
  readonly #boards: { readonly board: ProjectionBoard; readonly delay: number }[] = [];
  readonly #requested = new Set<string>();
  #status: ProjectorStatus = down;
  #projector: Projector | null = null;

  constructor(private readonly clock: VirtualClock) {}

  /** Tells this board from now on, always this many ms later. */
  tell(board: ProjectionBoard, delay: number): void {
    this.#boards.push({ board, delay });
    board.status(this.#status);
  }

  status(status: ProjectorStatus): void {
    this.#status = status;
    this.#each((board) => board.status(status));
  }

  moved(position: bigint): void {
    if (!this.#status.projections.every(({ live }) => live)) return;
    this.#status = {
      ...this.#status,
      projections: this.#status.projections.map((each) => ({ ...each, checkpoint: position })),
    };
    this.#each((board) => board.moved(position));
  }

  request(name: string): boolean {
    const isKnown = allProjections.some((projection) => projection.name === name);
    if (isKnown && this.#projector === null) this.#requested.add(name);
    void this.#projector?.rebuild(name);
    return isKnown;
  }

  async feed(projector: Projector, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    this.#projector = projector;
    for (const name of this.#requested) void projector.rebuild(name);
    this.#requested.clear();
    const stopped = (): void => {
      if (this.#projector !== projector) return;
      this.#projector = null;
      this.status(down);
    };
    signal.addEventListener('abort', stopped, { once: true });
    await run();
    stopped();
  }

  #each(tell: (board: ProjectionBoard) => void): void {
    for (const { board, delay } of this.#boards)
      if (delay === 0) tell(board);
      else void this.clock.sleep(delay).then(() => tell(board));
  }
}
