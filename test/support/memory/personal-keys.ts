import {
  PersonalKeysUnavailable,
  type NumberedBlock,
  type PersonalKeys,
  type ShredderMark,
  type StoredBlock,
} from '../../../application/ports/personal-keys.js';

/** Keys of personal data in memory. */
export class MemoryPersonalKeys implements PersonalKeys {
  readonly blocks = new Map<number, StoredBlock>();
  readonly #uses = new Set<number>();
  #mark: ShredderMark | null = null;

  async first(make: Parameters<PersonalKeys['first']>[0]): Promise<StoredBlock | null> {
    if (this.blocks.size === 0) this.blocks.set(0, { number: 0, version: 1, ...make(0) });
    return this.blocks.get(0) ?? null;
  }

  async add(blocks: readonly NumberedBlock[]): Promise<void> {
    const numbers = new Set(blocks.map(({ number }) => number));
    if (numbers.size < blocks.length || [...numbers].some((number) => this.blocks.has(number)))
      throw new PersonalKeysUnavailable('A block of this number is there.');
    for (const block of blocks) this.blocks.set(block.number, { ...block, version: 1 });
  }

  async load(numbers: readonly number[]): Promise<readonly StoredBlock[]> {
    return numbers.flatMap((number) => this.blocks.get(number) ?? []);
  }

  async after(number: number, limit: number): Promise<readonly StoredBlock[]> {
    const later = [...this.blocks.values()].filter((block) => block.number > number);
    return later.toSorted((one, other) => one.number - other.number).slice(0, limit);
  }

  async replace(block: StoredBlock): Promise<boolean> {
    if (this.blocks.get(block.number)?.version !== block.version) return false;
    this.blocks.set(block.number, { ...block, version: block.version + 1 });
    return true;
  }

  async mark(): Promise<ShredderMark | null> {
    return this.#mark;
  }

  async saveMark(mark: ShredderMark, before: ShredderMark | null, uses: readonly number[]): Promise<boolean> {
    for (const number of uses) this.#uses.add(number);
    if (this.#mark?.position !== before?.position) return false;
    this.#mark = mark;
    return true;
  }

  async missing(numbers: readonly number[]): Promise<readonly number[]> {
    return [...new Set([...numbers, ...this.#uses])].filter((number) => !this.blocks.has(number));
  }

  async wrappers(): Promise<readonly string[]> {
    return [...new Set([...this.blocks.values()].map(({ wrappedBy }) => wrappedBy))];
  }
}
