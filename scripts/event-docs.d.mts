export declare function eventPage(): Promise<string>
