import type {
  AgendaQuery,
  PageQuery,
  ProjectionProgress,
  ReadModels,
  Stored,
} from '../../../application/ports/read-models.js';
import type { ProjectionBoard } from '../../../application/projection-board.js';
import type { Projection } from '../../../projections/projection.js';

export interface CurrentReadsOptions {
  readonly readModels: ReadModels;
  readonly board: ProjectionBoard;
  /** The position of the log's last committed event, shared by the writer. */
  readonly head: SharedArrayBuffer;
}

/**
 * Read models in the process that writes: it knows what is committed. So a query waits until the projections
 * have passed that, and no write waits for them. While a projection catches up, which may take long, it is
 * the other way round: queries show what there is, and a write waits for a while. (decision 34)
 */
export class CurrentReads implements ReadModels, ProjectionProgress {
  readonly #readModels: ReadModels;
  readonly #board: ProjectionBoard;
  readonly #head: BigInt64Array;

  constructor({ readModels, board, head }: CurrentReadsOptions) {
    this.#readModels = readModels;
    this.#board = board;
    this.#head = new BigInt64Array(head);
  }

  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    await this.#untilCurrent();
    return this.#readModels.get(projection, key);
  }

  async page<Document>(
    projection: Projection<Document>,
    query: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    await this.#untilCurrent();
    return this.#readModels.page(projection, query);
  }

  async agenda<Document>(
    projection: Projection<Document>,
    query: AgendaQuery,
  ): Promise<readonly Stored<Document>[]> {
    await this.#untilCurrent();
    return this.#readModels.agenda(projection, query);
  }

  async passed(position: bigint): Promise<void> {
    if (!this.#board.isLive()) await this.#board.passed(position);
  }

  isLate(): boolean {
    return this.#board.isLate();
  }

  checkpoint(): bigint {
    return this.#board.checkpoint();
  }

  async #untilCurrent(): Promise<void> {
    if (this.#board.isLive()) await this.#board.passed(Atomics.load(this.#head, 0));
  }
}
