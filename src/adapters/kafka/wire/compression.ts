export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
