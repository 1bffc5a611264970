/** Whether what is generated says what is there. Throws what is wrong with a manifest. */
export declare function isCurrent(): boolean
/** Brings all of it up to date. */
export declare function update(): void
