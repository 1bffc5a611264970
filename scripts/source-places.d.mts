export declare function createSourcePlaces(base: string): (line: string) => string
