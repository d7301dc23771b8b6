CREATE TABLE IF NOT EXISTS `holdfast_schema` (part VARCHAR(64) NOT NULL PRIMARY KEY, version INT NOT NULL) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4;

INSERT INTO `holdfast_schema` (part, version) VALUES ('checkpoints', 1) ON DUPLICATE KEY UPDATE version = 1;
