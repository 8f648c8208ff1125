import type { PersonalKeys, ShredderMark, StoredBlock } from '../../../application/ports/personal-keys.js';

/** Keys of personal data in memory. */
export class MemoryPersonalKeys implements PersonalKeys {
  readonly blocks = new Map<number, StoredBlock>();
  #last = 0;
  #mark: ShredderMark | null = null;

  async first(make: Parameters<PersonalKeys['first']>[0]): Promise<StoredBlock | null> {
    if (this.#last === 0 && !this.blocks.has(0)) this.blocks.set(0, { number: 0, version: 1, ...make(0) });
    return this.blocks.get(0) ?? null;
  }

  async add(count: number, make: Parameters<PersonalKeys['add']>[1]): Promise<readonly number[]> {
    return Array.from({ length: count }, () => {
      const number = (this.#last += 1);
      this.blocks.set(number, { number, version: 1, ...make(number) });
      return number;
    });
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

  async saveMark(mark: ShredderMark): Promise<void> {
    this.#mark = mark;
  }
}
