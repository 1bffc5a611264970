export declare function createFaultReader(): (line: string) => string | undefined
