export declare function giveDatabase(state: string): void
