CREATE TABLE IF NOT EXISTS `holdfast_threads` (
  thread_id VARBINARY(1088) NOT NULL PRIMARY KEY,
  thread_no BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE,
  generation VARBINARY(1024) NOT NULL,
  tail INT NOT NULL,
  tail_write_id VARBINARY(1024) NOT NULL,
  head INT NOT NULL,
  members BLOB,
  indexed INT NOT NULL DEFAULT 0,
  edits INT NOT NULL DEFAULT 0,
  stale TINYINT NOT NULL DEFAULT 1,
  expires_at DATETIME(3),
  KEY by_expiry (expires_at),
  KEY by_staleness (stale, thread_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS `holdfast_records` (
  thread_id VARBINARY(1088) NOT NULL,
  seq INT NOT NULL,
  base INT NOT NULL,
  head INT NOT NULL,
  write_id VARBINARY(1024),
  checkpoint_id VARBINARY(1024),
  names MEDIUMBLOB,
  header MEDIUMBLOB NOT NULL,
  metadata LONGBLOB,
  body_bytes INT NOT NULL,
  body LONGBLOB NOT NULL,
  PRIMARY KEY (thread_id, seq),
  KEY by_checkpoint (thread_id, checkpoint_id, seq),
  FOREIGN KEY (thread_id) REFERENCES `holdfast_threads` (thread_id) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS `holdfast_names` (
  thread_id VARBINARY(1088) NOT NULL,
  name VARBINARY(1024) NOT NULL,
  seq INT NOT NULL,
  PRIMARY KEY (thread_id, name, seq),
  FOREIGN KEY (thread_id) REFERENCES `holdfast_threads` (thread_id) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS `holdfast_members` (
  member BIGINT NOT NULL,
  thread_id VARBINARY(1088) NOT NULL,
  PRIMARY KEY (member, thread_id),
  KEY by_thread (thread_id),
  FOREIGN KEY (thread_id) REFERENCES `holdfast_threads` (thread_id) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS `holdfast_words` (
  word VARBINARY(512) NOT NULL,
  thread_no BIGINT UNSIGNED NOT NULL,
  seq INT NOT NULL,
  word_count INT NOT NULL,
  PRIMARY KEY (word, thread_no, seq),
  KEY by_record (thread_no, seq),
  FOREIGN KEY (thread_no) REFERENCES `holdfast_threads` (thread_no) ON DELETE CASCADE
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;
